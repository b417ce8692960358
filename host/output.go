package host

import (
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/guestrt/wire"
	"github.com/quoinhq/quoin/host/runstore"
)

// outputBudget collects what one result may carry: the items emitted since the
// previous result and the value share limit bytes of compact JSON.
type outputBudget struct {
	limit   int64
	used    int64
	omitted int64 // bytes that did not fit
	items   []Output
}

// resume counts what a host that died had collected for this result.
func (b *outputBudget) resume(old *outputBudget) {
	for _, o := range old.items {
		b.addItem(o)
	}
	b.omitted += old.omitted
}

// carriedOutput is what a host had emitted and not returned, or nil.
func carriedOutput(rec *runstore.Record) *outputBudget {
	if len(rec.Output) == 0 && rec.Omitted == 0 {
		return nil
	}
	b := &outputBudget{omitted: rec.Omitted}
	for _, o := range rec.Output {
		b.items = append(b.items, Output{Kind: wire.OutputKind(o.Kind), Value: o.Value})
	}
	return b
}

// add takes the items of one turn, keeps what fits, and counts the rest.
func (b *outputBudget) add(items []wire.Output) *failure {
	for _, it := range items {
		if !json.Valid(it.JSON) || it.Kind == wire.OutputText && it.JSON[0] != '"' {
			return failf(CodeInternal, ReasonWorkerCrashed, PhaseHost, "guest worker sent output that is not JSON")
		}
		b.addItem(Output{Kind: it.Kind, Value: it.JSON})
	}
	return nil
}

func (b *outputBudget) addItem(o Output) {
	size := itemBytes(o)
	if b.omitted == 0 && b.used+size <= b.limit {
		b.used += size
		b.items = append(b.items, o)
		return
	}
	if b.omitted == 0 && o.Kind == wire.OutputText {
		size -= b.addPrefix(o)
	}
	b.omitted += size
}

// addPrefix keeps the part of a text that fits, whole characters only, and
// returns the bytes it took.
func (b *outputBudget) addPrefix(o Output) int64 {
	text := o.Text()
	room := b.limit - b.used - itemBytes(Output{Kind: wire.OutputText, Value: json.RawMessage(`""`)})
	for room > 0 && text != "" {
		text = safePrefix(text, int(room))
		quoted, err := json.Marshal(text)
		if err != nil {
			return 0
		}
		part := Output{Kind: wire.OutputText, Value: quoted}
		if size := itemBytes(part); b.used+size <= b.limit {
			b.used += size
			b.items = append(b.items, part)
			return size
		}
		// Escapes made it longer than its bytes: leave some of it out.
		room -= max(1, room/16)
	}
	return 0
}

// itemBytes is the size of an item in the result.
func itemBytes(o Output) int64 {
	const wrapper = `{"type":"text","text":}`
	if o.Kind == wire.OutputText {
		return int64(len(wrapper) + len(o.Value))
	}
	return int64(len(`{"type":"json","value":}`) + len(o.Value))
}

// over is the failure of a run that emitted too much under OutputFail.
func (b *outputBudget) over(extra int64) *failure {
	return failf(CodeOutputLimit, "", PhaseGuest,
		"code mode output limit exceeded: %d bytes beyond the limit of %d were omitted. Return or print less, for example only the fields you need.",
		b.omitted+extra, b.limit)
}

// marker stands for what OutputTruncate left out.
type marker struct {
	Truncated    bool   `json:"truncated"`
	OmittedBytes int64  `json:"omittedBytes"`
	Guidance     string `json:"guidance"`
	Prefix       string `json:"prefix"`
}

const truncateGuidance = "Output truncated; run again and return less, for example only the fields you need."

// truncated returns the marker for a value of which nothing else is kept, with
// as long a prefix of its JSON as fits.
func (b *outputBudget) truncated(value json.RawMessage) json.RawMessage {
	total := int64(len(value)) + b.omitted
	for room := max(0, b.limit-b.used-256); ; room = room * 3 / 4 {
		prefix := safePrefix(string(value), int(room))
		m, err := json.Marshal(marker{true, total - int64(len(prefix)), truncateGuidance, prefix})
		if err != nil {
			return json.RawMessage(fmt.Sprintf(`{"truncated":true,"omittedBytes":%d}`, total))
		}
		if room == 0 || b.used+int64(len(m)) <= b.limit {
			return m
		}
	}
}
