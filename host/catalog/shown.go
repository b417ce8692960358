package catalog

import (
	"strconv"

	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
)

// shown prepares a name for a message: at most 120 bytes, no control
// characters, no line breaks. Names may come from guests.
func shown(name string) string {
	const most = 120
	return text.Printable(text.Shorten(name, most))
}

// compactJSON encodes strings and what is made of them, without the escapes
// that only HTML needs.
func compactJSON(v any) []byte {
	b, err := jsontext.Marshal(v)
	if err != nil {
		panic("catalog: strings cannot be encoded: " + err.Error()) // strings always can
	}
	return b
}

// quoted writes a name for a message.
func quoted(name string) string { return strconv.Quote(shown(name)) }
