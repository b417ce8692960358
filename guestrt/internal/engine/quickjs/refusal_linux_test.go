//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// suspended returns an image of a waiting guest of e.
func suspended(t testing.TB, e *Engine) []byte {
	t.Helper()
	vm := newVM(t, e, engine.Options{})
	defer discard(t, vm)
	load(t, vm, `return 40 + await tools.call('a')`)
	img, err := vm.Snapshot(wire.MaxImage)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// finish restores an image and settles its only call.
func finish(t testing.TB, e *Engine, img []byte) string {
	t.Helper()
	vm, err := e.Restore(img, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer discard(t, vm)
	return mustValue(t, turn(t, vm, wire.Settlement{ID: 1, OK: true, JSON: []byte("2")}))
}

func TestForeignImagesAreRefused(t *testing.T) {
	image := func(cfg Config) []byte {
		e, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		return suspended(t, e)
	}
	other := image(Config{BuildID: [32]byte{4}, Prelude: testPrelude})
	prelude := image(Config{BuildID: testBuild, Prelude: testPrelude + " "})
	reserve := image(Config{BuildID: testBuild, Prelude: testPrelude, ReserveBytes: 128 << 20})
	e := openTest(t)
	for name, c := range map[string]struct {
		img  []byte
		want error
	}{
		"build": {other, engine.ErrForeignBuild}, "prelude": {prelude, engine.ErrForeignEngine}, "reserve": {reserve, engine.ErrForeignArch},
	} {
		if _, err := e.Restore(c.img, engine.Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := finish(t, e, suspended(t, e)); got != "42" {
		t.Errorf("after the refusals: %s", got)
	}
}

// TestDamagedImagesAreRefused: whatever happens to an image in storage, it is
// refused, and the engine works on.
func TestDamagedImagesAreRefused(t *testing.T) {
	e := openTest(t)
	img := suspended(t, e)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		b := bytes.Clone(img)
		switch r.IntN(3) {
		case 0:
			b = b[:r.IntN(len(b))]
		case 1:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		default:
			i, j := r.IntN(len(b)-8), r.IntN(len(b)-8)
			copy(b[i:i+8], img[j:j+8])
			if bytes.Equal(b, img) {
				continue
			}
		}
		if _, err := e.Restore(b, engine.Options{}); !errors.Is(err, engine.ErrCorrupt) && !errors.Is(err, engine.ErrFormat) {
			t.Fatalf("damaged image: %v", err)
		}
	}
	if got := finish(t, e, img); got != "42" {
		t.Errorf("after the refusals: %s", got)
	}
}

// TestImpossibleHeapIsRefused: an image that is whole, with a heap that cannot be,
// is refused, and leaves the template as it was.
func TestImpossibleHeapIsRefused(t *testing.T) {
	e := openTest(t)
	raw := make([]byte, 3)
	raw[0] = pageChanged
	var page, base [pageWords]uint64
	page[0] = 1
	raw = appendChanged(raw, &page, &base)
	img := sealed(e.origin, wire.Limits{}, 3*pageSize, uint64(len(raw)), compress(t, raw))
	if _, err := e.Restore(img, engine.Options{}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("restored: %v", err)
	}
	if got := finish(t, e, suspended(t, e)); got != "42" {
		t.Errorf("after the refusal: %s", got)
	}
}

func TestMethodsOutOfOrder(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{})
	if _, err := vm.Turn(nil, soon()); err == nil {
		t.Error("a turn without a cell")
	}
	bad := cell("return 1")
	bad.Config = []byte("{")
	if _, err := vm.Load(bad, soon()); err == nil {
		t.Error("a configuration that is not JSON")
	}
	load(t, vm, `await tools.call('a'); return 1`)
	if _, err := vm.Load(cell("return 2"), soon()); err == nil {
		t.Error("a second cell")
	}
	if _, err := vm.Turn([]wire.Settlement{{ID: 99, OK: true, JSON: []byte("1")}}, soon()); !errors.Is(err, engine.ErrUnknownCall) {
		t.Errorf("a settlement of no call: %v", err)
	}
	if _, err := vm.Turn(nil, soon()); !errors.Is(err, engine.ErrDead) {
		t.Errorf("a turn after an error: %v", err)
	}
	discard(t, vm)
	if _, err := vm.Snapshot(wire.MaxImage); !errors.Is(err, engine.ErrDead) {
		t.Errorf("an image after Discard: %v", err)
	}
	vm = newVM(t, e, engine.Options{})
	load(t, vm, `await tools.call('a')`)
	for _, bad := range []wire.Settlement{{ID: 1, OK: true, JSON: []byte("{")}} {
		if _, err := vm.Turn([]wire.Settlement{bad}, soon()); err == nil {
			t.Errorf("settled with %q", bad.JSON)
		}
	}
	discard(t, vm)
}

// TestEnginePanicKillsTheVM: a panic below a turn, here in Files, is an error
// and the next VM is unaffected.
func TestEnginePanicKillsTheVM(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{Files: func(string) ([]byte, bool) { panic("boom") }})
	if _, err := vm.Load(cell(`return readFile('x')`), soon()); !errors.Is(err, engine.ErrDead) {
		t.Errorf("panic: %v", err)
	}
	if _, err := vm.Turn(nil, soon()); !errors.Is(err, engine.ErrDead) {
		t.Errorf("a turn after a panic: %v", err)
	}
	discard(t, vm)
	if got := mustValue(t, run(t, e, engine.Options{}, "return 1")); got != "1" {
		t.Errorf("after the panic: %s", got)
	}
}
