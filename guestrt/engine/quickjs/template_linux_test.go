//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/guestrt/engine"
)

// TestTemplateIsReproducible: every process of a build has the same template,
// or images could not move. Words may differ only where both processes have
// the remains of an address outside the arena.
func TestTemplateIsReproducible(t *testing.T) {
	for _, real := range []bool{false, true} {
		first := inChild(t, step{Real: real})
		for range 6 {
			got := inChild(t, step{Real: real})
			if got.Template != first.Template || len(got.View) != len(first.View) {
				t.Fatalf("real prelude %v: template %x, then %x", real, first.Template, got.Template)
			}
			stale := 0
			for i := 0; i < len(got.View); i += 8 {
				a, b := binary.LittleEndian.Uint64(first.View[i:]), binary.LittleEndian.Uint64(got.View[i:])
				if a == b {
					continue
				}
				if stale++; !isStale(a) || !isStale(b) {
					t.Errorf("real prelude %v: offset %#x: %#x, then %#x", real, i, a, b)
				}
			}
			if stale > 64 {
				t.Errorf("real prelude %v: %d stale words", real, stale)
			}
		}
	}
}

// isStale reports whether the upper half of w is that of a stack or Go heap
// address.
func isStale(w uint64) bool {
	hi := w >> 32
	return hi >= 0x7000 && hi < 0x8000 || hi >= 0xc0 && hi < 0xd0
}

func TestTemplateSurvivesItsGuests(t *testing.T) {
	e := openTest(t)
	for range 3 {
		vm := newVM(t, e, engine.Options{})
		if r := load(t, vm, `globalThis.x = (globalThis.x || 0) + 1; return [x, "y".repeat(1 << 20).length]`); string(r.Value) != "[1,1048576]" {
			t.Fatalf("a guest saw another guest's state: %s", r.Value)
		}
		discard(t, vm)
		if !bytes.Equal(bytesAt(arenaBase, uintptr(len(e.view))), e.view) {
			t.Fatal("the arena differs from the template after Discard")
		}
		if b := bytesAt(arenaBase+uintptr(len(e.view)), 4<<20); !isZero(b) {
			t.Fatal("memory above the template was kept")
		}
	}
}

func TestOneEngineAProcess(t *testing.T) {
	e := openTest(t)
	if _, err := Open(Config{Prelude: testPrelude}); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("second Open: %v", err)
	}
	vm := newVM(t, e, engine.Options{})
	if _, err := e.New(engine.Options{}); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("second New: %v", err)
	}
	discard(t, vm)
	discard(t, vm)
	discard(t, newVM(t, e, engine.Options{}))
}

func TestOpenAfterClose(t *testing.T) {
	e, err := Open(Config{Prelude: testPrelude})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.New(engine.Options{}); !errors.Is(err, engine.ErrDead) {
		t.Errorf("New after Close: %v", err)
	}
	openTest(t)
}

func TestBrokenPreludeIsAnError(t *testing.T) {
	for _, src := range []string{"(", "1", "() => { throw new Error('no') }", "() => ({start(){}, settle(){}, fire(){}})"} {
		if e, err := Open(Config{Prelude: src}); err == nil {
			e.Close()
			t.Errorf("prelude %q was accepted", src)
		}
	}
	openTest(t)
}
