//go:build linux && (amd64 || arm64)

package quickjs

import (
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// TestSuspendedCellContinues walks the whole path once: load, call, image,
// discard, restore, settle, done.
func TestSuspendedCellContinues(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{})
	r := load(t, vm, `let x = await tools.call('a', {q: 1}); return x.v + await tools.call('b')`)
	if r.Status != wire.StatusIdle || len(r.Requests) != 1 || r.Requests[0].Target != "a" || string(r.Requests[0].Args) != `{"q":1}` || r.Pending != 1 {
		t.Fatalf("first report: %+v", r)
	}
	vm = rebirth(t, e, vm)
	r = turn(t, vm, wire.Settlement{ID: 1, OK: true, JSON: []byte(`{"v":40}`)})
	if r.Status != wire.StatusIdle || len(r.Requests) != 1 || r.Requests[0].Target != "b" {
		t.Fatalf("second report: %+v", r)
	}
	r = turn(t, vm, wire.Settlement{ID: 2, OK: true, JSON: []byte(`2`)})
	if r.Status != wire.StatusDone || string(r.Value) != "42" {
		t.Fatalf("last report: %+v", r)
	}
}
