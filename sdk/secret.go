package sdk

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted stands in for a secret wherever one is printed.
const redacted = "[secret]"

// Secret is a text that must not be seen, such as a token. However it is printed,
// logged or marshalled, on its own or inside of something else, it comes out as
// "[secret]". [Secret.Reveal] is the only way to its text. The zero value holds "".
type Secret struct {
	// A function, since reflection finds its way into everything else.
	reveal func() string
}

// NewSecret returns a Secret of text.
func NewSecret(text string) Secret { return Secret{reveal: func() string { return text }} }

// Reveal returns the text. Pass it only to the service that it is for.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String returns "[secret]".
func (Secret) String() string { return redacted }

// Format prints "[secret]" whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) } // as fmt itself: a State keeps its errors

// MarshalText returns "[secret]", for JSON and whatever else asks.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue is "[secret]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

var (
	_ fmt.Formatter  = Secret{}
	_ slog.LogValuer = Secret{}
)
