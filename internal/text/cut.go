package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis marks the place where Shorten has cut.
const ellipsis = "…"

// Cut returns the longest prefix of s that has at most n bytes and does not end
// inside a character.
func Cut[S ~string](s S, n int) S {
	n = max(n, 0)
	if len(s) <= n {
		return s
	}
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n] // nothing there is a character
}

// Shorten returns s if it has at most n bytes, and otherwise a prefix that ends
// with "…" and has at most n bytes, the mark included.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Cut(s, n-len(ellipsis)) + ellipsis
}

// List returns names with commas between them, as many of the first as n bytes hold. If
// some are left out, "…" stands in their place.
func List(names []string, n int) string {
	whole := strings.Join(names, ", ")
	if len(whole) <= n {
		return whole
	}
	if n < len(ellipsis) {
		return ""
	}
	end := 0
	for _, name := range names {
		if end+len(name)+len(", ")+len(ellipsis) > n {
			break
		}
		end += len(name) + len(", ")
	}
	return whole[:end] + ellipsis
}

// Printable returns s with U+FFFD in place of each character that shows nothing
// or that changes how others are shown, line breaks included. The result is one
// line of valid UTF-8.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// IsPrintable reports whether s is valid UTF-8 that Printable would not change.
func IsPrintable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
