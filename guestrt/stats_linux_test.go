package guestrt

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/wire"
)

// TestStats follows one worker from the shelf to its end.
func TestStats(t *testing.T) {
	p := newPool(t, Config{Prepared: 1, MaxPrepared: 1})
	await(t, p, func(s Stats) bool { return s.Warm == 1 && s.InUse == 0 && s.Started == 1 })
	w := acquire(t, p, "a")
	await(t, p, func(s Stats) bool { return s.Warm == 1 && s.InUse == 1 && s.Started == 2 })
	wantValue(t, start(t, w, js("return 1"), nil), "1")
	p.Release(w)
	await(t, p, func(s Stats) bool { return s.Kept == 1 && s.InUse == 0 })

	w = acquire(t, p, "a")
	w.Kill()
	_, err := w.Start(context.Background(), js("return 1"), nil, in(plenty))
	wantEnding(t, err, wire.CodeAborted, "")
	p.Release(w)
	await(t, p, func(s Stats) bool { return s.Kept == 0 && s.Retired[wire.CodeAborted] == 1 })

	w = acquire(t, p, "b")
	start(t, w, js("throw 1"), nil)
	p.Release(w)
	await(t, p, func(s Stats) bool { return s.Retired[exitReleased] == 1 && s.Started >= 3 })
}

// await looks until the pool is as it should be.
func await(t *testing.T, p *Pool, good func(Stats) bool) {
	t.Helper()
	for end := in(plenty); !good(p.Stats()); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("the pool has %+v", p.Stats())
		}
	}
}
