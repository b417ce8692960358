package guestrt

import (
	"bytes"
	"context"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// suspended returns the image of a cell that waits, made by a worker that is
// gone when it is used, and the id of the call it waits for.
func suspended(t *testing.T, p *Pool, c wire.Cell) ([]byte, uint64) {
	t.Helper()
	w := acquire(t, p, "a")
	r := start(t, w, c, virtual(nil))
	if r.Status != wire.StatusIdle || len(r.Requests) != 1 {
		t.Fatalf("start: %+v %+v", r, r.Err)
	}
	image, err := w.Snapshot(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Kill()
	p.Release(w)
	<-w.p.gone
	return image, r.Requests[0].ID
}

func TestAnotherProcessGoesOnWithASnapshot(t *testing.T) {
	p := newPool(t, Config{})
	image, id := suspended(t, p, js(`let n = 40; const m = new Map([["k", 1]]); n += await tools.call("t", {}); return n + m.get("k")`))
	for range 2 { // one image can be restored more than once
		w := acquire(t, p, "b")
		if err := w.Restore(context.Background(), image, wire.Limits{}, virtual(nil)); err != nil {
			t.Fatal(err)
		}
		wantValue(t, turn(t, w, resolve(id, 1)), "42")
		p.Release(w)
	}
}

func TestTypeScriptPlacesSurviveASnapshot(t *testing.T) {
	p := newPool(t, Config{})
	image, id := suspended(t, p, ts("type A = string\n\nconst a = await tools.call('t', {}) as A\n\n  null.x"))
	w := acquire(t, p, "b")
	defer p.Release(w)
	if err := w.Restore(context.Background(), image, wire.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	r := turn(t, w, resolve(id, "x"))
	if r.Err == nil || places(r.Err.Stack) != "cell.ts:5:3" {
		t.Errorf("error %+v", r.Err)
	}
}

func TestASnapshotLeavesTheGuestUsable(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "a")
	defer p.Release(w)
	r := start(t, w, js(`return await tools.call("t", {})`), nil)
	first, err := w.Snapshot(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.Snapshot(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two snapshots of one guest differ")
	}
	wantValue(t, turn(t, w, resolve(r.Requests[0].ID, 5)), "5")
}

func TestSnapshotLimit(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "a")
	defer p.Release(w)
	start(t, w, js(`return await tools.call("t", {})`), nil)
	_, err := w.Snapshot(context.Background(), 100)
	wantEnding(t, err, wire.CodeSnapshotLimit, "")
	r := turn(t, w, resolve(1, 5)) // the guest is as it was
	wantValue(t, r, "5")
}

func TestDamagedImagesAreRefused(t *testing.T) {
	p := newPool(t, Config{})
	image, _ := suspended(t, p, js(`await tools.call("t", {})`))
	bad := bytes.Clone(image)
	bad[len(bad)/2] ^= 1
	for _, b := range [][]byte{nil, []byte("QGSI"), image[:len(image)-1], bad} {
		w := acquire(t, p, "b")
		err := w.Restore(context.Background(), b, wire.Limits{}, nil)
		wantEnding(t, err, wire.CodeInvalidInput, wire.ReasonSnapshotRestore)
		p.Release(w)
	}
}
