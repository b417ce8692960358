package runs

import (
	"bytes"
	"encoding/json"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// outputBudget collects what one result may carry: the items emitted since the
// previous result and the value share limit bytes of compact JSON. What it keeps
// is a prefix of what was emitted.
type outputBudget struct {
	limit   int64
	used    int64
	omitted int64 // bytes of items, and of the value, that are not shown
	items   []codemode.Output
}

// resume counts what a host that died had collected for this result.
func (b *outputBudget) resume(old *outputBudget) {
	for _, o := range old.items {
		b.addItem(o)
	}
	b.omitted += old.omitted
}

// store puts what was collected into a record.
func (b *outputBudget) store(rec *runstore.Record) {
	for _, o := range b.items {
		rec.Output = append(rec.Output, runstore.Output{Kind: string(o.Kind), Value: o.Value})
	}
	rec.Omitted = b.omitted
}

// carriedOutput is what a host had emitted and not returned, or nil.
func carriedOutput(rec *runstore.Record) *outputBudget {
	if len(rec.Output) == 0 && rec.Omitted == 0 {
		return nil
	}
	b := &outputBudget{omitted: rec.Omitted}
	for _, o := range rec.Output {
		b.items = append(b.items, codemode.Output{Kind: codemode.OutputKind(o.Kind), Value: o.Value})
	}
	return b
}

// add takes the items of one turn, keeps what fits, and counts the rest.
func (b *outputBudget) add(items []wire.Output) *failure {
	for _, it := range items {
		if !json.Valid(it.JSON) || it.Kind == wire.OutputText && it.JSON[0] != '"' {
			return failf(codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "guest worker sent output that is not JSON")
		}
		b.addItem(codemode.Output{Kind: codemode.OutputKind(it.Kind), Value: it.JSON})
	}
	return nil
}

// addItem keeps an item, or what fits of the first that does not.
func (b *outputBudget) addItem(o codemode.Output) {
	size := itemBytes(o)
	switch {
	case b.omitted == 0 && b.used+size <= b.limit:
		b.keep(o)
	case b.omitted > 0:
		b.omitted += size
	case o.Kind == codemode.OutputText:
		inner := o.Value[1 : len(o.Value)-1]
		n := cut(inner, b.room(), tokenBytes)
		b.omitted = b.keepText(inner[:n], size, len(inner)-n)
	default:
		b.omitted = b.keepJSON(o.Value, size)
	}
}

// addValue takes the value of a program that fails because it does not fit.
func (b *outputBudget) addValue(value json.RawMessage) {
	if b.omitted > 0 {
		b.omitted += int64(len(value))
		return
	}
	b.omitted = b.keepJSON(value, int64(len(value)))
}

// keepJSON keeps as much of a JSON text as fits, as a text, and returns how many
// bytes are not shown, which are whole if nothing is shown.
func (b *outputBudget) keepJSON(value json.RawMessage, whole int64) int64 {
	n := cut(value, b.room(), quotedBytes)
	return b.keepText(insideString(value[:n]), whole, len(value)-n)
}

// keepText keeps a text, given as a JSON string without its quotes, and returns
// omitted; or, if there is nothing to keep, whole.
func (b *outputBudget) keepText(inner []byte, whole int64, omitted int) int64 {
	if len(inner) == 0 {
		return whole
	}
	literal := append(append([]byte{'"'}, inner...), '"')
	b.keep(codemode.Output{Kind: codemode.OutputText, Value: literal})
	return int64(omitted)
}

func (b *outputBudget) keep(o codemode.Output) {
	b.used += itemBytes(o)
	o.Value = bytes.Clone(o.Value) // else it keeps the whole report
	b.items = append(b.items, o)
}

// room is how long a text can be that is still kept, in bytes of a JSON string
// without its quotes.
func (b *outputBudget) room() int {
	return int(b.limit - b.used - itemBytes(codemode.Output{Kind: codemode.OutputText, Value: json.RawMessage(`""`)}))
}

// itemBytes is the size of an item in the result.
func itemBytes(o codemode.Output) int64 {
	const wrapper = `{"type":"text","text":}`
	if o.Kind == codemode.OutputText {
		return int64(len(wrapper) + len(o.Value))
	}
	return int64(len(`{"type":"json","value":}`) + len(o.Value))
}

// fits reports whether everything does, the value included.
func (b *outputBudget) fits(value json.RawMessage) bool {
	return b.omitted == 0 && b.used+int64(len(value)) <= b.limit
}

// over is the failure of a run that emitted too much under OutputFail.
func (b *outputBudget) over() *failure {
	return failf(codemode.CodeOutputLimit, "", codemode.PhaseGuest,
		"code mode output limit exceeded: %d bytes beyond the limit of %d were omitted; output ends with what fits. Return or print less, for example only the fields you need.",
		b.omitted, b.limit)
}
