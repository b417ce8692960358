package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// document draws a small JSON document.
func document(t *rapid.T, label string) []byte {
	v := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.Map(rapid.SliceOf(rapid.Bool()), func(b []bool) any { return b }),
		rapid.Map(rapid.MapOf(rapid.String(), rapid.Float64Range(-1e9, 1e9)), func(m map[string]float64) any { return m }),
	).Draw(t, label)
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func drawText(t *rapid.T) string { return rapid.StringN(-1, 30, 200).Draw(t, "text") }

func some(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func list[T any](t *rapid.T, n int, draw func() T) []T {
	var out []T
	for range rapid.IntRange(0, n).Draw(t, "length") {
		out = append(out, draw())
	}
	return out
}

func limits(t *rapid.T) Limits {
	u32 := func() uint32 { return rapid.Uint32().Draw(t, "limit") }
	return Limits{rapid.Uint64().Draw(t, "memory"), u32(), u32(), u32(), u32()}
}

func drawReport(t *rapid.T) *Report {
	id := uint64(0)
	r := &Report{
		Status: Status(rapid.IntRange(0, 2).Draw(t, "status")),
		Requests: list(t, 5, func() Request {
			id += rapid.Uint64Range(1, 9).Draw(t, "step")
			r := Request{
				ID:     id,
				Method: rapid.SampledFrom([]Method{MethodCall, MethodSearch, MethodDescribe, MethodNamespace, MethodYield, MethodMCP, MethodCancel}).Draw(t, "method"),
				Target: drawText(t),
				Path:   list(t, 4, func() string { return drawText(t) }),
			}
			if rapid.Bool().Draw(t, "args") {
				r.Args = document(t, "arguments")
			}
			return r
		}),
		Output: list(t, 5, func() Output {
			if rapid.Bool().Draw(t, "is text") {
				b, err := json.Marshal(drawText(t))
				if err != nil {
					t.Fatal(err)
				}
				return Output{OutputText, b}
			}
			return Output{OutputJSON, document(t, "output")}
		}),
		Pending:       rapid.IntRange(0, MaxPending).Draw(t, "pending"),
		TimerMillis:   rapid.Int64Range(-1, MaxTimerMillis).Draw(t, "timer"),
		CPUMicros:     rapid.Uint64Max(math.MaxInt64/1000).Draw(t, "cpu"),
		HeapBytes:     rapid.Uint64Max(MaxHeap).Draw(t, "heap"),
		HeapPeakBytes: rapid.Uint64Max(MaxHeap).Draw(t, "peak"),
		Trace:         some(rapid.SliceOf(rapid.Byte()).Draw(t, "trace")),
	}
	switch r.Status {
	case StatusDone:
		r.Value = document(t, "value")
	case StatusFailed:
		r.Err = &GuestError{Name: drawText(t), Message: drawText(t), Stack: drawText(t), Code: CodeInternal, Reason: ReasonGuestException, Phase: PhaseGuest}
	}
	return r
}

// drawMessage draws any message, with the side that says it.
func drawMessage(t *rapid.T) (Side, Message) {
	var id [32]byte
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "id"))
	blob := some(rapid.SliceOf(rapid.Byte()).Draw(t, "blob"))
	number := rapid.Uint64().Draw(t, "number")
	switch rapid.SampledFrom([]Type{
		TypeHello, TypeStart, TypeTurn, TypeSnapshot, TypeRestore, TypeFileData, TypeReset,
		TypeReady, TypeReport, TypeNeedFile, TypeImage, TypeRestored, TypeFault,
	}).Draw(t, "type") {
	case TypeHello:
		return Host, &Hello{Version, id, number%2 == 1}
	case TypeStart:
		refs := list(t, 4, func() NamespaceRef { return NamespaceRef{drawText(t), drawText(t)} })
		return Host, &Start{Cell{drawText(t), drawText(t), refs, limits(t)}, number, blob}
	case TypeTurn:
		in := list(t, 5, func() Settlement {
			return Settlement{rapid.Uint64().Draw(t, "id"), rapid.Bool().Draw(t, "ok"), document(t, "json")}
		})
		return Host, &Turn{in, number, blob}
	case TypeSnapshot:
		return Host, &Snapshot{number}
	case TypeRestore:
		return Host, &Restore{blob, limits(t)}
	case TypeFileData:
		return Host, &FileData{rapid.Bool().Draw(t, "found"), blob}
	case TypeReset:
		return Host, &Reset{}
	case TypeReady:
		layers := list(t, 4, func() Layer {
			return Layer{drawText(t), rapid.SampledFrom([]string{LayerOn, LayerOff, LayerFailed}).Draw(t, "state"), drawText(t)}
		})
		return Worker, &Ready{uint32(number), drawText(t), layers}
	case TypeReport:
		return Worker, drawReport(t)
	case TypeNeedFile:
		return Worker, &NeedFile{drawText(t)}
	case TypeImage:
		return Worker, &Image{blob}
	case TypeRestored:
		return Worker, &Restored{}
	default:
		return Worker, &Fault{CodeSnapshotLimit, ReasonSnapshotRestore, drawText(t)}
	}
}

func TestEveryMessageSurvivesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, want := drawMessage(t)
		var b bytes.Buffer
		if err := NewConn(from, stream{nil, &b}).Send(want); err != nil {
			t.Fatal(err)
		}
		got, err := receive(from, b.Bytes())
		if err != nil {
			t.Fatalf("%v: %v", want.Type(), err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if _, err := receive(1-from, b.Bytes()); err == nil {
			t.Fatalf("%v is accepted from the wrong side", want.Type())
		}
	})
}

func TestCutMessagesAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, m := drawMessage(t)
		b, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			return
		}
		n := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if n == len(b)-4-len(traceOf(m)) {
			return // all but the trace, which a message may lack
		}
		if _, err := Decode(from, m.Type(), b[:n]); err == nil {
			t.Fatalf("%v cut to %d of %d bytes is accepted", m.Type(), n, len(b))
		}
		if _, err := Decode(from, m.Type(), append(b, 0)); err == nil {
			t.Fatalf("%v with a byte more is accepted", m.Type())
		}
	})
}

func traceOf(m Message) []byte {
	switch m := m.(type) {
	case *Start:
		return m.Trace
	case *Turn:
		return m.Trace
	case *Report:
		return m.Trace
	}
	return nil
}
