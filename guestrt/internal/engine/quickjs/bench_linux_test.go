//go:build linux && (amd64 || arm64)

package quickjs

import (
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// The benchmarks use the real prelude and a trivial cell that waits for one
// call.
const trivial = `const r = await tools.call('a', {q: 1}); return r.v + 1`

func benchEngine(b *testing.B) *Engine { return openWith(b, Config{BuildID: testBuild}) }

func mustDo[T any](b *testing.B) func(T, error) T {
	return func(v T, err error) T {
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// BenchmarkOpen builds the template: once per process.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		e := mustDo[*Engine](b)(Open(Config{BuildID: testBuild}))
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCell is a whole trivial cell in a fresh VM: clone, load, discard.
func BenchmarkCell(b *testing.B) {
	e := benchEngine(b)
	c := cell("return 1 + 1")
	for b.Loop() {
		vm := newVM(b, e, engine.Options{})
		r := mustDo[wire.Report](b)(vm.Load(c, time.Now().Add(time.Minute)))
		if r.Status != wire.StatusDone {
			b.Fatalf("%+v", r.Err)
		}
		discard(b, vm)
	}
}

// BenchmarkTurn settles one call of a cell that makes the next.
func BenchmarkTurn(b *testing.B) {
	e := benchEngine(b)
	vm := newVM(b, e, engine.Options{})
	r := load(b, vm, `for (;;) await tools.call('a', {q: 1})`)
	in := make([]wire.Settlement, 1)
	for b.Loop() {
		in[0] = wire.Settlement{ID: r.Requests[0].ID, OK: true, JSON: []byte(`{"v":1}`)}
		r = mustDo[wire.Report](b)(vm.Turn(in, time.Time{}))
	}
	discard(b, vm)
}

func benchSnapshot(b *testing.B, src string) {
	e := benchEngine(b)
	vm := newVM(b, e, engine.Options{})
	load(b, vm, src)
	var img []byte
	for b.Loop() {
		img = mustDo[[]byte](b)(vm.Snapshot(wire.MaxImage))
	}
	b.ReportMetric(float64(len(img)), "image-bytes")
	discard(b, vm)
}

// BenchmarkSnapshot takes an image of a trivial waiting cell.
func BenchmarkSnapshot(b *testing.B) { benchSnapshot(b, trivial) }

// BenchmarkSnapshotLarge takes an image of some 20 MB of live objects.
func BenchmarkSnapshotLarge(b *testing.B) {
	benchSnapshot(b, `const a = []; for (let i = 0; i < 60_000; i++) a.push({ id: i, name: 'n' + i, tags: ['x', i] }); await tools.call('a', {}); return a.length`)
}

// BenchmarkRestore continues a trivial cell from its image to its end.
func BenchmarkRestore(b *testing.B) {
	e := benchEngine(b)
	vm := newVM(b, e, engine.Options{})
	load(b, vm, trivial)
	img := mustDo[[]byte](b)(vm.Snapshot(wire.MaxImage))
	discard(b, vm)
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			discard(b, mustDo[engine.VM](b)(e.Restore(img, engine.Options{})))
		}
	})
	b.Run("restore+finish", func(b *testing.B) {
		in := []wire.Settlement{{ID: 1, OK: true, JSON: []byte(`{"v":1}`)}}
		for b.Loop() {
			vm := mustDo[engine.VM](b)(e.Restore(img, engine.Options{}))
			if r := mustDo[wire.Report](b)(vm.Turn(in, time.Time{})); r.Status != wire.StatusDone {
				b.Fatalf("%+v", r.Err)
			}
			discard(b, vm)
		}
	})
}

// BenchmarkNew clones the template and gives it back.
func BenchmarkNew(b *testing.B) {
	e := benchEngine(b)
	for b.Loop() {
		discard(b, newVM(b, e, engine.Options{}))
	}
}
