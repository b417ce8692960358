package wire

import (
	"bytes"
	"math"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// Type returns TypeReport.
func (*Report) Type() Type { return TypeReport }

func (m *Report) encode(e *encoder) {
	e.u8(uint8(m.Status))
	e.bytes(m.Value)
	e.bool(m.Err != nil)
	if m.Err != nil {
		encodeGuestError(e, m.Err)
	}
	e.u32(uint32(len(m.Requests)))
	for i := range m.Requests {
		encodeRequest(e, &m.Requests[i])
	}
	e.u32(uint32(len(m.Output)))
	for _, o := range m.Output {
		e.str(string(o.Kind))
		e.bytes(o.JSON)
	}
	e.u32(uint32(m.Pending))
	e.u64(uint64(m.TimerMillis))
	e.u64(m.CPUMicros)
	e.u64(m.HeapBytes)
	e.u64(m.HeapPeakBytes)
	e.trace(m.Trace)
}

func (m *Report) decode(d *decoder) {
	m.Status = Status(d.u8("status"))
	m.Value = d.compactJSON(MaxReport, true, "value")
	if d.bool("error flag") {
		m.Err = decodeGuestError(d)
	}
	m.Requests = decodeRequests(d)
	m.Output = decodeOutput(d)
	m.Pending = decodePending(d)
	m.TimerMillis = int64(d.u64("timer"))
	m.CPUMicros = d.u64("CPU time")
	m.HeapBytes = d.u64("heap size")
	m.HeapPeakBytes = d.u64("heap peak")
	m.Trace = bytes.Clone(d.trace()) // small, and kept for as long as its run
	if d.err == nil {
		m.check(d)
	}
}

// check holds what the fields of a report must satisfy together.
func (m *Report) check(d *decoder) {
	switch {
	case m.Status > StatusFailed:
		d.fail("status %d is unknown", m.Status)
	case (m.Status == StatusDone) != (m.Value != nil):
		d.fail("a value must come with status done and only then")
	case (m.Status == StatusFailed) != (m.Err != nil):
		d.fail("an error must come with status failed and only then")
	case m.TimerMillis < -1 || m.TimerMillis > MaxTimerMillis:
		d.fail("timer %d is negative or too late", m.TimerMillis)
	case m.CPUMicros > math.MaxInt64/1000:
		d.fail("%d microseconds of processor time", m.CPUMicros) // no duration
	case m.HeapBytes > MaxHeap || m.HeapPeakBytes > MaxHeap:
		d.fail("a heap of %d bytes, at its peak of %d", m.HeapBytes, m.HeapPeakBytes)
	}
}

func decodePending(d *decoder) int {
	n := d.u32("pending calls")
	if n > MaxPending {
		d.fail("%d pending calls", n)
		return 0
	}
	return int(n)
}

func encodeGuestError(e *encoder, g *GuestError) {
	for _, s := range []string{g.Name, g.Message, g.Stack} {
		e.str(clip(s, MaxErrorText))
	}
	for _, s := range []string{g.Code, g.Reason, g.Phase} {
		e.str(s)
	}
}

func decodeGuestError(d *decoder) *GuestError {
	g := &GuestError{
		Name:    d.str(MaxErrorText, "error name"),
		Message: d.str(MaxErrorText, "error message"),
		Stack:   d.str(MaxErrorText, "error stack"),
		Code:    d.str(MaxPathBytes, "error code"),
		Reason:  d.str(MaxPathBytes, "error reason"),
		Phase:   d.str(MaxPathBytes, "error phase"),
	}
	if d.err == nil && (!knownCode(g.Code) || !knownReason(g.Reason) || !knownPhase(g.Phase)) {
		d.fail("error %q/%q/%q is unknown", g.Code, g.Reason, g.Phase)
	}
	return g
}

func encodeRequest(e *encoder, r *Request) {
	e.u64(r.ID)
	e.str(string(r.Method))
	e.str(r.Target)
	e.u32(uint32(len(r.Path)))
	for _, p := range r.Path {
		e.str(p)
	}
	e.bytes(r.Args)
}

func decodeRequests(d *decoder) []Request {
	n := d.count(MaxRequests, 24, "requests")
	if n == 0 {
		return nil
	}
	list := make([]Request, n)
	var last uint64
	for i := range list {
		list[i] = decodeRequest(d)
		if d.err != nil {
			return nil
		}
		if i > 0 && list[i].ID <= last {
			d.fail("request ids do not ascend")
			return nil
		}
		last = list[i].ID
	}
	return list
}

func decodeRequest(d *decoder) Request {
	r := Request{
		ID:     d.u64("request id"),
		Method: Method(d.str(MaxPathBytes, "request method")),
		Target: d.str(MaxTarget, "request target"),
	}
	if n := d.count(MaxPathSegments, 4, "request path"); n > 0 {
		r.Path = make([]string, n)
	}
	for i := range r.Path {
		r.Path[i] = d.str(MaxPathBytes, "request path segment")
	}
	r.Args = d.compactJSON(MaxReport, true, "request arguments")
	if d.err == nil && !knownMethod(r.Method) {
		d.fail("request method %q is unknown", r.Method)
	}
	return r
}

func decodeOutput(d *decoder) []Output {
	n := d.count(MaxOutputItems, 8, "output")
	if n == 0 {
		return nil
	}
	var list []Output
	for range n {
		o := Output{
			Kind: OutputKind(d.str(MaxPathBytes, "output kind")),
			JSON: d.compactJSON(MaxReport, false, "output item"),
		}
		switch {
		case d.err != nil:
			return nil
		case o.Kind != OutputText && o.Kind != OutputJSON:
			d.fail("output kind %q is unknown", o.Kind)
		case o.Kind == OutputText && o.JSON[0] != '"':
			d.fail("a text output item is not a string")
		}
		list = append(list, o)
	}
	return list
}

// clip shortens a text to at most max bytes without cutting a rune.
func clip(s string, max int) string {
	return text.Cut(strings.ToValidUTF8(s, "\uFFFD"), max)
}
