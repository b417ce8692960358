package terminal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/terminal"
)

// TestLineHidesNothing: no character of a line looks like nothing.
func TestLineHidesNothing(t *testing.T) {
	for s, want := range map[string]string{
		"a\u3164b": `a\u3164b`, "\u115f": `\u115f`, "\u2800x": `\u2800x`, "x\ufe0f": `x\ufe0f`, "\uffa0": `\uffa0`,
		"\u202e": `\u202e`, "\u200b": `\u200b`, "grün \"x\" 漢": `grün "x" 漢`, "a\nb\tc": `a\nb\tc`, "\x1b[2J": `\x1b[2J`, "\xff": `\xff`,
	} {
		if got := terminal.Line(s); got != want {
			t.Errorf("%q is shown as %s, want %s", s, got, want)
		}
	}
	if got := terminal.Short(strings.Repeat("é", 201)); got != strings.Repeat("é", 199)+"…" {
		t.Errorf("got %q", got)
	}
}

func TestText(t *testing.T) {
	for s, want := range map[string]string{
		"a\n\tb": "a\n\tb", "x\ry": `x\ry`, "\x1b]0;title\a": `\x1b]0;title\a`, "\u009b2J": `\u009b2J`,
		"\u202eabc": `\u202eabc`, "bad \xff": `bad \xff`, "\ufffd": "\ufffd", "🇩🇪": "🇩🇪",
	} {
		if got := terminal.Text(s); got != want {
			t.Errorf("%q is shown as %q, want %q", s, got, want)
		}
	}
	var b strings.Builder
	if _, err := terminal.Fprintf(&b, "%s\n", "\x1b[31mred"); err != nil || b.String() != "\\x1b[31mred\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// FuzzTerminal: no text gets a control character to a terminal, and JSON keeps its
// meaning.
func FuzzTerminal(f *testing.F) {
	f.Add("a\x1b[2J\u009b\u202e\xff\n")
	f.Add(`{"a":"\u007f"}`)
	f.Add("\"a\"\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		isBad := func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
		}
		for _, got := range []string{terminal.Line(s), terminal.Short(s), terminal.Text(s), string(terminal.JSON([]byte(s)))} {
			if strings.ContainsFunc(got, isBad) || !utf8.ValidString(got) {
				t.Errorf("%q became %q", s, got)
			}
		}
		if strings.ContainsAny(terminal.Line(s), "\n\t") {
			t.Errorf("%q has several lines", terminal.Line(s))
		}
		var before, after string
		if utf8.ValidString(s) && json.Unmarshal([]byte(s), &before) == nil {
			if err := json.Unmarshal(terminal.JSON([]byte(s)), &after); err != nil || before != after {
				t.Errorf("%s became %s: %v", s, terminal.JSON([]byte(s)), err)
			}
		}
	})
}
