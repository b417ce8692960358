package guestrt

import (
	"context"
	"fmt"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// largeCell holds 60 MiB of its 64 while it waits.
const largeCell = `const a = []; for (let i = 0; i < 60; i++) a.push(new Uint8Array(1 << 20).fill(i + 1));
await yield_control(); return a.length + a[59][7]`

// noiseCell holds 48 MiB that nothing can compress.
const noiseCell = `const a = []; for (let i = 0; i < 768; i++) a.push(crypto.getRandomValues(new Uint8Array(65536)));
await yield_control(); return a.length`

// TestLargeHeapsDoNotHarmTheirWorker suspends and resumes a guest near its memory
// limit again and again in one session, with a deep recursion after each.
func TestLargeHeapsDoNotHarmTheirWorker(t *testing.T) {
	p := newPool(t, Config{})
	if _, err := suspendedImage(p, noiseCell); err != nil {
		t.Error(err)
	}
	for range 8 {
		for _, err := range []error{largeRound(p), deepRound(p)} {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

func largeRound(p *Pool) error {
	image, err := suspendedImage(p, largeCell)
	if err != nil {
		return err
	}
	w, err := p.Acquire(context.Background(), "s", wire.Limits{})
	if err != nil {
		return err
	}
	defer p.Release(w)
	if err := w.Restore(context.Background(), image, wire.Limits{}, nil); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	r, err := w.Turn(context.Background(), []wire.Settlement{resolve(1, nil)}, in(plenty))
	if err != nil {
		return fmt.Errorf("turn: %w", err)
	}
	if string(r.Value) != "120" {
		return fmt.Errorf("turn: value %s, error %+v", r.Value, r.Err)
	}
	return nil
}

// suspendedImage is the image of a cell that waits.
func suspendedImage(p *Pool, cell string) ([]byte, error) {
	w, err := p.Acquire(context.Background(), "s", wire.Limits{})
	if err != nil {
		return nil, err
	}
	defer p.Release(w)
	r, err := w.Start(context.Background(), js(cell), nil, in(plenty))
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if r.Status != wire.StatusIdle {
		return nil, fmt.Errorf("start: %+v", r.Err)
	}
	image, err := w.Snapshot(context.Background(), 0)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return image, nil
}

func deepRound(p *Pool) error {
	w, err := p.Acquire(context.Background(), "s", wire.Limits{})
	if err != nil {
		return err
	}
	defer p.Release(w)
	r, err := w.Start(context.Background(), js(`let d = 0; function f() { d++; f() } try { f() } catch (e) { return "deep" }`), nil, in(plenty))
	if err != nil {
		return fmt.Errorf("recursion: %w", err)
	}
	if string(r.Value) != `"deep"` {
		return fmt.Errorf("recursion: value %s, error %+v", r.Value, r.Err)
	}
	return nil
}

// TestALargeTextIsDecoded: 20 MiB by the engine, with room in a heap of 64 for the
// bytes and the text alone.
func TestALargeTextIsDecoded(t *testing.T) {
	w := acquire(t, newPool(t, Config{}), "s")
	r := start(t, w, js(`const b = new Uint8Array(20 << 20).fill(0x78); return new TextDecoder().decode(b).length`), nil)
	wantValue(t, r, "20971520")
	t.Logf("it took %d ms of processor time", r.CPUMicros/1000)
}
