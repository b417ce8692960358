package guestrt

import (
	"context"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// BenchmarkCell is a trivial cell of a session that comes back.
func BenchmarkCell(b *testing.B) {
	p := newPool(b, Config{})
	for b.Loop() {
		w := acquire(b, p, "s")
		wantValue(b, start(b, w, js("return 1+1"), nil), "2")
		p.Release(w)
	}
}

// BenchmarkCellNewSession is a trivial cell in a process of its own.
func BenchmarkCellNewSession(b *testing.B) {
	p := newPool(b, Config{Prepared: 4})
	for b.Loop() {
		w := acquire(b, p, "")
		wantValue(b, start(b, w, js("return 1+1"), nil), "2")
		p.Release(w)
	}
}

func BenchmarkTypeScriptCell(b *testing.B) {
	p := newPool(b, Config{})
	for b.Loop() {
		w := acquire(b, p, "s")
		wantValue(b, start(b, w, ts("const x: number = 1+1\nreturn x"), nil), "2")
		p.Release(w)
	}
}

// BenchmarkTurn is one settlement and the call that follows it.
func BenchmarkTurn(b *testing.B) {
	p := newPool(b, Config{})
	w := acquire(b, p, "s")
	r := start(b, w, js("for (;;) await tools.call('t', {})"), nil)
	for b.Loop() {
		r = turn(b, w, resolve(r.Requests[0].ID, 1))
	}
	p.Release(w)
}

// BenchmarkSuspendAndResume takes a waiting guest out and puts it into a worker
// again.
func BenchmarkSuspendAndResume(b *testing.B) {
	p := newPool(b, Config{})
	w := acquire(b, p, "s")
	start(b, w, js("await tools.call('t', {})"), nil)
	var size int
	for b.Loop() {
		image, err := w.Snapshot(context.Background(), 0)
		if err != nil {
			b.Fatal(err)
		}
		size = len(image)
		p.Release(w)
		w = acquire(b, p, "s")
		if err := w.Restore(context.Background(), image, wire.Limits{}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size), "image-bytes")
	p.Release(w)
}

// BenchmarkStartProcess is what a pool does in the background.
func BenchmarkStartProcess(b *testing.B) {
	p := newPool(b, Config{})
	for b.Loop() {
		child, err := p.start(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		p.drop(child)
		<-child.gone
	}
}
