//go:build linux && (amd64 || arm64)

package quickjs

import (
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// openTest opens the engine with the test prelude until the test ends.
func openTest(t testing.TB) *Engine {
	return openWith(t, Config{BuildID: testBuild, Prelude: testPrelude})
}

func openWith(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func newVM(t testing.TB, e *Engine, o engine.Options) engine.VM {
	t.Helper()
	vm, err := e.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// cell wraps a program as the worker does.
func cell(src string) engine.Cell {
	return engine.Cell{
		Source:   []byte("(async()=>{" + src + "\n})"),
		FileName: "cell.js",
		Config:   []byte(`{"file":"cell.js","namespaces":[],"limits":{}}`),
	}
}

// soon is a deadline no healthy test reaches.
func soon() time.Time { return time.Now().Add(30 * time.Second) }

func load(t testing.TB, vm engine.VM, src string) wire.Report {
	t.Helper()
	r, err := vm.Load(cell(src), soon())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func turn(t testing.TB, vm engine.VM, in ...wire.Settlement) wire.Report {
	t.Helper()
	r, err := vm.Turn(in, soon())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func discard(t testing.TB, vm engine.VM) {
	t.Helper()
	if err := vm.Discard(); err != nil {
		t.Fatal(err)
	}
}

// rebirth takes an image, discards the VM and restores the image.
func rebirth(t testing.TB, e *Engine, vm engine.VM) engine.VM {
	t.Helper()
	img, err := vm.Snapshot(wire.MaxImage)
	if err != nil {
		t.Fatal(err)
	}
	discard(t, vm)
	vm, err = e.Restore(img, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sound(t)
	return vm
}

// sound checks the structure of the live guest's heap.
func sound(t testing.TB) {
	t.Helper()
	if err := ctl().heap.walk(); err != nil {
		t.Fatal(err)
	}
}

// run loads a program in a fresh VM and returns its final report.
func run(t testing.TB, e *Engine, o engine.Options, src string) wire.Report {
	t.Helper()
	vm := newVM(t, e, o)
	defer discard(t, vm)
	return load(t, vm, src)
}
