package output

import (
	"strings"

	"github.com/quoinhq/quoin/internal/terminal"
)

// FirstLine returns the first line of s that is not blank as one line for a terminal, at
// most 100 characters of it.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > 100 {
		s = string(r[:99]) + "…"
	}
	return terminal.Line(s)
}

// ShellWord quotes a word for a POSIX shell, if it needs quotes.
func ShellWord(w string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+"
	if w != "" && strings.Trim(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
