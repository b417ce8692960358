package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/quoinhq/quoin/internal/text"
)

// bounded returns at most n bytes of a server's text, as one that can be shown:
// valid UTF-8, without control characters but line breaks and tabs.
func bounded(s string, n int) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, text.Shorten(strings.ToValidUTF8(s, "\uFFFD"), n))
}

// compact returns valid JSON without spaces, in memory of its own.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return bytes.Clone(raw) // cannot happen: it was decoded before
	}
	return b.Bytes()
}
