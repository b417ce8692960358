package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// unusable says why a line must not run at all; empty if it may.
func unusable(line string) string {
	switch {
	case len(line) > settings.MaxCommandBytes:
		return fmt.Sprintf("the command has %d bytes, and more than %d cannot be shown whole", len(line), settings.MaxCommandBytes)
	case !utf8.ValidString(line):
		return "the command is not valid UTF-8"
	case strings.ContainsRune(line, 0):
		return "the command has a NUL character, which no shell takes"
	}
	return ""
}

// misleading says why a line may read to a person, or to another parser, as something
// else than it is; empty if it does not.
func misleading(line string) string {
	for _, c := range line {
		if c != '\n' && c != '\t' && (!unicode.IsPrint(c) || invisible(c)) {
			return fmt.Sprintf("the command has the character %U, which does not show", c)
		}
	}
	if strings.Contains(line, "\\\n") && strings.Contains(line, "#") {
		// The parser continues such a comment, and a shell does not.
		return "the command has a comment, or a #, and a line that goes on"
	}
	return ""
}

// invisible reports whether a character that counts as printable shows nothing.
func invisible(c rune) bool {
	switch {
	case c == 0x034F, c == 0x115F, c == 0x1160, c == 0x17B4, c == 0x17B5, c == 0x2800, c == 0x3164, c == 0xFFA0:
		return true
	case c >= 0x180B && c <= 0x180F, c >= 0xFE00 && c <= 0xFE0F, c >= 0xE0000 && c <= 0xE0FFF:
		return true
	}
	return false
}

// quote returns a word that every shell reads as s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
