package quickjs

import (
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// FuzzDrain feeds the decoder of what the guest's heap says of itself: a guest that
// has broken the engine writes it at will.
func FuzzDrain(f *testing.F) {
	for _, s := range []string{
		`{"s":0,"o":[["text","a"],["json",{"b":[1]}]],"r":[[1,"call","t",{}],[2,"search","q",{"limit":1}],[3,"describe","t"],[4,"namespace","n",["a","b"],[1]],[5,"yield","why"]],"p":5,"t":12.5}`,
		`{"s":1,"v":{"a":1},"o":[],"r":[],"p":0,"t":-1}`,
		`{"s":2,"e":{"name":"Error","message":"m","stack":"s","kind":"call_failed"},"o":[],"r":[],"p":0,"t":-1}`,
		`{"s":2,"e":{"kind":"value_limit"},"p":-1,"t":1e300}`,
		`{"s":9,"r":[[]],"o":[[1]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseDrain(b)
		if err != nil {
			return
		}
		switch {
		case r.Status == wire.StatusDone && r.Value == nil,
			r.Status == wire.StatusFailed && r.Err == nil,
			r.Status > wire.StatusFailed,
			r.TimerMillis < -1:
			t.Fatalf("%q became %+v", b, r)
		}
		// The host takes the report or refuses it; it never loses its way.
		if m, err := wire.Encode(&r); err == nil {
			if _, err := wire.Decode(wire.Worker, wire.TypeReport, m); err != nil {
				t.Fatalf("%q is sent, but not received: %v", b, err)
			}
		}
	})
}
