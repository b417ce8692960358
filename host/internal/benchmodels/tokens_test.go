package benchmodels

import (
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// codec is the tokenizer that all figures are in. It is the one of some models, and an
// estimate for others.
var codec = sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.O200kBase) })

// tokens counts the tokens of a text.
func tokens(t testing.TB, text string) int {
	t.Helper()
	c, err := codec()
	if err != nil {
		t.Fatal(err)
	}
	n, err := c.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
