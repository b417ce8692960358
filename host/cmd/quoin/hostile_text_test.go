package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode"
)

// TestErrorsDoNothingToATerminal: what an error quotes from outside reaches the
// terminal without control characters.
func TestErrorsDoNothingToATerminal(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"config", "check", "--config", "\x1b[2J\u202eno-such-file.json5"},
		{"no\x1b]0;title\acommand"},
		{"plugin", "validate", t.TempDir() + "/\u009b31mred"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), args, strings.NewReader(""), &stdout, &stderr); code == 0 || stdout.Len()+stderr.Len() == 0 {
			t.Errorf("%q: exit code %d, printed nothing: %v", args, code, stdout.Len()+stderr.Len() == 0)
		}
		printed := stdout.String() + stderr.String()
		if strings.ContainsFunc(printed, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
		}) {
			t.Errorf("%q printed %q", args, printed)
		}
	}
}
