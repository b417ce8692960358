package output

import (
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
)

// marker stands for a value that OutputTruncate has shortened. Value is what is shown of it:
// valid JSON with its largest parts cut.
type marker struct {
	Truncated    bool            `json:"truncated"`
	OmittedBytes int64           `json:"omittedBytes"`
	Guidance     string          `json:"guidance"`
	Value        json.RawMessage `json:"value"`
}

// outputMarker is the last item of an output that was shortened. What
// was kept comes before it.
type outputMarker struct {
	Truncated    bool   `json:"truncated"`
	OmittedBytes int64  `json:"omittedBytes"`
	Guidance     string `json:"guidance"`
}

const (
	truncateGuidance = "Output truncated; print less, for example only the fields you need."
	valueGuidance    = "Value truncated; return only the fields you need."
)

// markerRoom is more than a marker takes next to its value and the sentence about it.
const markerRoom = 192

// Truncated shares the budget between items and value. A value of up to half of
// it is kept whole, and a longer one gets whatever the items leave, at least half. Keep
// puts a value that is cut aside, and says how to get it.
func (b *Budget) Truncated(value json.RawMessage, keep func(json.RawMessage) string) (json.RawMessage, []codemode.Output) {
	if b.Fits(value) {
		return value, b.Items
	}
	room := b.Limit / 2
	if b.Omitted == 0 {
		room = max(room, b.Limit-b.Used)
	}
	if int64(len(value)) > room {
		value = markerOf(value, int(room), valueGuidance+keep(value))
	}
	return value, b.Within(b.Limit - int64(len(value)))
}

// Within returns the items in at most limit bytes, with a marker at the end if
// some are left out.
func (b *Budget) Within(limit int64) []codemode.Output {
	if b.Omitted == 0 && b.Used <= limit {
		return b.Items
	}
	less := Budget{Limit: limit - markerRoom}
	for _, o := range b.Items {
		less.addItem(o)
	}
	last, err := jsontext.Marshal(outputMarker{true, less.Omitted + b.Omitted, truncateGuidance})
	if err != nil {
		return less.Items
	}
	return append(less.Items, codemode.Output{Kind: codemode.OutputJSON, Value: last})
}

// leastOfValue is what a marker shows of a value at the least, in bytes. Where there is
// no room for it and the whole guidance, the guidance is cut.
const leastOfValue = 64

// markerOf returns the marker for a value in at most room bytes, which is half of the
// least limit of an output or more.
func markerOf(value json.RawMessage, room int, guidance string) json.RawMessage {
	m := marker{true, int64(len(value)), guidance, json.RawMessage("0")}
	frame, err := jsontext.Marshal(m)
	if over := len(frame) + leastOfValue - room; over > 0 {
		m.Guidance = text.Shorten(guidance, len(guidance)-over)
		frame, err = jsontext.Marshal(m)
	}
	if err != nil {
		return fmt.Appendf(nil, `{"truncated":true,"omittedBytes":%d}`, len(value))
	}
	var shown int
	m.Value, shown = jsontext.Shorten(value, room-len(frame))
	m.OmittedBytes -= int64(shown)
	out, err := jsontext.Marshal(m)
	if err != nil {
		return frame
	}
	return out
}

// cut returns the length of the longest prefix of a JSON text that takes at most room, by
// the sizes given to its tokens. A token is a character or an escape sequence, and two
// escapes that are one character are one token.
func cut(text []byte, room int, size func(token []byte) int) (n int) {
	for n < len(text) {
		end := n + jsontext.TokenEnd(text[n:])
		if room -= size(text[n:end]); room < 0 {
			break
		}
		n = end
	}
	return n
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
