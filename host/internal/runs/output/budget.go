package output

import (
	"bytes"
	"encoding/json"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Budget collects what one result may carry: the items emitted since the
// previous result and the value share limit bytes of compact JSON. What it keeps
// is a prefix of what was emitted.
type Budget struct {
	Limit   int64
	Used    int64
	Omitted int64 // bytes of items, and of the value, that are not shown
	Items   []codemode.Output
}

// Resume counts what a host that died had collected for this result.
func (b *Budget) Resume(old *Budget) {
	for _, o := range old.Items {
		b.addItem(o)
	}
	b.Omitted += old.Omitted
}

// Store puts what was collected into a record.
func (b *Budget) Store(rec *runstore.Record) {
	for _, o := range b.Items {
		rec.Output = append(rec.Output, runstore.Output{Kind: string(o.Kind), Value: o.Value})
	}
	rec.Omitted = b.Omitted
}

// Carried is what a host had emitted and not returned, or nil.
func Carried(rec *runstore.Record) *Budget {
	if len(rec.Output) == 0 && rec.Omitted == 0 {
		return nil
	}
	b := &Budget{Omitted: rec.Omitted}
	for _, o := range rec.Output {
		b.Items = append(b.Items, codemode.Output{Kind: codemode.OutputKind(o.Kind), Value: o.Value})
	}
	return b
}

// Add takes the items of one turn, keeps what fits, and counts the rest.
func (b *Budget) Add(items []wire.Output) *codemode.Error {
	for _, it := range items {
		if !json.Valid(it.JSON) || it.Kind == wire.OutputText && it.JSON[0] != '"' {
			return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "guest worker sent output that is not JSON")
		}
		b.addItem(codemode.Output{Kind: codemode.OutputKind(it.Kind), Value: it.JSON})
	}
	return nil
}

// addItem keeps an item, or what fits of the first that does not.
func (b *Budget) addItem(o codemode.Output) {
	size := itemBytes(o)
	switch {
	case b.Omitted == 0 && b.Used+size <= b.Limit:
		b.keep(o)
	case b.Omitted > 0:
		b.Omitted += size
	case o.Kind == codemode.OutputText:
		inner := o.Value[1 : len(o.Value)-1]
		n := cut(inner, b.room(), tokenBytes)
		b.Omitted = b.keepText(inner[:n], size, len(inner)-n)
	default:
		b.Omitted = b.keepJSON(o.Value, size)
	}
}

// AddValue takes the value of a program that fails because it does not fit.
func (b *Budget) AddValue(value json.RawMessage) {
	if b.Omitted > 0 {
		b.Omitted += int64(len(value))
		return
	}
	b.Omitted = b.keepJSON(value, int64(len(value)))
}

// keepJSON keeps as much of a JSON text as fits, as a text, and returns how many
// bytes are not shown, which are whole if nothing is shown.
func (b *Budget) keepJSON(value json.RawMessage, whole int64) int64 {
	n := cut(value, b.room(), quotedBytes)
	return b.keepText(insideString(value[:n]), whole, len(value)-n)
}

// keepText keeps a text, given as a JSON string without its quotes, and returns
// omitted; or, if there is nothing to keep, whole.
func (b *Budget) keepText(inner []byte, whole int64, omitted int) int64 {
	if len(inner) == 0 {
		return whole
	}
	literal := append(append([]byte{'"'}, inner...), '"')
	b.keep(codemode.Output{Kind: codemode.OutputText, Value: literal})
	return int64(omitted)
}

func (b *Budget) keep(o codemode.Output) {
	b.Used += itemBytes(o)
	o.Value = bytes.Clone(o.Value) // else it keeps the whole report
	b.Items = append(b.Items, o)
}

// room is how long a text can be that is still kept, in bytes of a JSON string
// without its quotes.
func (b *Budget) room() int {
	return int(b.Limit - b.Used - itemBytes(codemode.Output{Kind: codemode.OutputText, Value: json.RawMessage(`""`)}))
}

// itemBytes is the size of an item in the result.
func itemBytes(o codemode.Output) int64 {
	const wrapper = `{"type":"text","text":}`
	if o.Kind == codemode.OutputText {
		return int64(len(wrapper) + len(o.Value))
	}
	return int64(len(`{"type":"json","value":}`) + len(o.Value))
}

// Fits reports whether everything does, the value included.
func (b *Budget) Fits(value json.RawMessage) bool {
	return b.Omitted == 0 && b.Used+int64(len(value)) <= b.Limit
}

// Over is the failure of a run that emitted too much under OutputFail.
func (b *Budget) Over() *codemode.Error {
	return codemode.Errorf(codemode.CodeOutputLimit, "", codemode.PhaseGuest,
		"code mode output limit exceeded: %d bytes beyond the limit of %d were omitted; output ends with what fits. Return or print less, for example only the fields you need.",
		b.Omitted, b.Limit)
}
