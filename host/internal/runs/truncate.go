package runs

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// marker stands for a value that OutputTruncate left out. Prefix is the start
// of its JSON.
type marker struct {
	Truncated    bool   `json:"truncated"`
	OmittedBytes int64  `json:"omittedBytes"`
	Guidance     string `json:"guidance"`
	Prefix       string `json:"prefix"`
}

// outputMarker is the last item of an output that was shortened. What
// was kept comes before it.
type outputMarker struct {
	Truncated    bool   `json:"truncated"`
	OmittedBytes int64  `json:"omittedBytes"`
	Guidance     string `json:"guidance"`
}

const truncateGuidance = "Output truncated; run again and return less, for example only the fields you need."

// markerRoom is more than a marker takes next to its prefix.
const markerRoom = 192

// truncated shares the budget between items and value. A value of up to half of
// it is kept whole, and a longer one gets whatever the items leave, at least half.
func (b *outputBudget) truncated(value json.RawMessage) (json.RawMessage, []codemode.Output) {
	if b.fits(value) {
		return value, b.items
	}
	room := b.limit / 2
	if b.omitted == 0 {
		room = max(room, b.limit-b.used)
	}
	if int64(len(value)) > room {
		value = markerOf(value, int(room))
	}
	return value, b.within(b.limit - int64(len(value)))
}

// within returns the items in at most limit bytes, with a marker at the end if
// some are left out.
func (b *outputBudget) within(limit int64) []codemode.Output {
	if b.omitted == 0 && b.used <= limit {
		return b.items
	}
	less := outputBudget{limit: limit - markerRoom}
	for _, o := range b.items {
		less.addItem(o)
	}
	text, err := jsontext.Marshal(outputMarker{true, less.omitted + b.omitted, truncateGuidance})
	if err != nil {
		return less.items
	}
	return append(less.items, codemode.Output{Kind: codemode.OutputJSON, Value: text})
}

// markerOf returns the marker for a value, with as long a prefix as makes it at
// most room bytes.
func markerOf(value json.RawMessage, room int) json.RawMessage {
	n := cut(value, room-markerRoom, quotedBytes)
	text, err := jsontext.Marshal(marker{true, int64(len(value) - n), truncateGuidance, ""})
	if err != nil {
		return fmt.Appendf(nil, `{"truncated":true,"omittedBytes":%d}`, len(value))
	}
	text = text[:len(text)-len(`"}`)] // the prefix is the last field, and empty
	return append(append(text, insideString(value[:n])...), `"}`...)
}

// cut returns the length of the longest prefix of a JSON text whose tokens, by
// the sizes given to them, take at most room. A token is a character or an escape
// sequence, and two escapes that are one character are one token.
func cut(text []byte, room int, size func(token []byte) int) (n int) {
	for n < len(text) {
		end := n + tokenEnd(text[n:])
		if room -= size(text[n:end]); room < 0 {
			break
		}
		n = end
	}
	return n
}

// tokenEnd returns the length of the first token.
func tokenEnd(text []byte) int {
	const escape = len(`\u0000`)
	switch {
	case text[0] != '\\':
		_, n := utf8.DecodeRune(text)
		return n
	case len(text) < escape || text[1] != 'u':
		return min(2, len(text))
	case len(text) >= 2*escape && text[escape] == '\\' && text[escape+1] == 'u' &&
		surrogate(text) == highSurrogate && surrogate(text[escape:]) == lowSurrogate:
		return 2 * escape
	default:
		return escape
	}
}

// The halves of a character beyond U+FFFF.
const (
	noSurrogate = iota
	highSurrogate
	lowSurrogate
)

// surrogate says which half of a pair an escape sequence is.
func surrogate(escape []byte) int {
	second := escape[3] | 0x20 // in lower case
	switch {
	case escape[2]|0x20 != 'd' || second < '8':
		return noSurrogate
	case second <= '9', second == 'a', second == 'b':
		return highSurrogate
	default:
		return lowSurrogate
	}
}

func tokenBytes(token []byte) int { return len(token) }

// quotedBytes is what a part of a JSON text takes inside a JSON string.
func quotedBytes(token []byte) int {
	n := len(token)
	for _, c := range token {
		if quotes[c] != 0 {
			n++
		}
	}
	return n
}

// insideString is a JSON text as the inside of a JSON string.
func insideString(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(text)/8)
	for _, c := range text {
		if q := quotes[c]; q != 0 {
			out, c = append(out, '\\'), q
		}
		out = append(out, c)
	}
	return out
}

// quotes are the characters of a JSON text that a JSON string escapes, with what
// stands behind the backslash. White space is the only control character there.
var quotes = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't'}
