//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// TestTemplateIsReproducible: every process of a build has the same template,
// or images could not move. A few words may differ, where padding holds the
// remains of a stack address; a captured time may not.
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
				if stale++; isTime(a) && isTime(b) {
					t.Errorf("real prelude %v: offset %#x: the template holds a time", real, i)
				}
			}
			if stale > 64 {
				t.Errorf("real prelude %v: %d stale words", real, stale)
			}
		}
	}
}

// isTime reports whether w is a number that Date.now could have returned.
func isTime(w uint64) bool {
	f := math.Float64frombits(w)
	return f > 1e12 && f < 1e13 && f == math.Trunc(f)
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

// TestDiscardLeavesTheTemplate: whatever a VM did, the arena is the template
// again, and empty above it.
func TestDiscardLeavesTheTemplate(t *testing.T) {
	e := openWith(t, Config{})
	for _, src := range []string{
		"return 1",
		"Object.prototype.a = 1; Array.prototype.map = null; globalThis.x = [1, 2, 3]; return x",
		"const a = []; for (let i = 0; i < 300_000; i++) a.push({i}); return a.length",
		"await tools.call('t', {})",
	} {
		vm := newVM(t, e, engine.Options{})
		load(t, vm, src)
		// What an engine that has lost its way might do.
		above := bytesAt(arenaBase+uintptr(len(e.view)), 8<<20)
		above[1], above[keptAbove+1], above[len(above)-1] = 1, 1, 1
		discard(t, vm)
		if !bytes.Equal(bytesAt(arenaBase, uintptr(len(e.view))), e.view) {
			t.Errorf("%s: the arena differs from the template", src)
		}
		if !isZero(above) {
			t.Errorf("%s: something is left above the template", src)
		}
	}
}

func TestBrokenPreludeIsAnError(t *testing.T) {
	for _, src := range []string{"(", "1", "() => { throw new Error('no') }", "() => ({start(){}, settle(){}, fire(){}})",
		"() => ({start(){ throw 1 }, settle(){}, fire(){}, drain(){}})", "() => ({start(){}, settle(){}, fire(){}, drain(){}})"} {
		if e, err := Open(Config{Prelude: src}); err == nil {
			e.Close()
			t.Errorf("prelude %q was accepted", src)
		}
	}
	openTest(t)
}

func TestMovedExecutablesAreRecognised(t *testing.T) {
	fixed := []programHeader{{kind: kindPhdr, vaddr: 0x400040}, {kind: kindLoad, vaddr: 0x400000}, {kind: kindLoad, offset: 0x1000, vaddr: 0x401000}}
	moved := []programHeader{{kind: kindPhdr, vaddr: 0x40}, {kind: kindLoad}, {kind: kindLoad, offset: 0x1000, vaddr: 0x1000}}
	for _, c := range []struct {
		headers []programHeader
		addr    uint64
		want    bool
	}{
		{fixed, 0x400040, true}, {fixed[1:], 0x400040, true}, {fixed[2:], 0x400040, false},
		{moved, 0x555555554040, false}, {moved[1:], 0x7f0000000040, false}, {nil, 0x400040, false},
	} {
		if got := loadedWhereLinked(c.headers, c.addr); got != c.want {
			t.Errorf("headers at %#x in %v: %v", c.addr, c.headers, got)
		}
	}
}
