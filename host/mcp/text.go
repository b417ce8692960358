package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// bounded returns at most n bytes of a server's text, as one that can be shown:
// valid UTF-8, without control characters but line breaks and tabs.
func bounded(s string, n int) string {
	const cut = "…"
	if len(s) > n {
		end := n - len(cut)
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + cut
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
