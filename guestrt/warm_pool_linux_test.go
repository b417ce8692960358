package guestrt

import (
	"testing"
	"time"
)

// TestThePoolGrowsWithTheLoad: who finds no warm worker raises the number that
// are kept ready, up to the maximum and for a while.
func TestThePoolGrowsWithTheLoad(t *testing.T) {
	p := newPool(t, Config{Prepared: 1, MaxPrepared: 3})
	var calm []func()
	p.warm.later = func(d time.Duration, f func()) {
		if d != surgeTime {
			t.Errorf("a surge lasts %v", d)
		}
		calm = append(calm, f)
	}
	for range 5 {
		p.wantMore()
	}
	if got := p.wanted(); got != 3 || len(calm) != 2 {
		t.Fatalf("%d workers are wanted after %d surges, want 3 after 2", got, len(calm))
	}
	for n := len(calm); n > 0; n-- {
		calm[n-1]()
	}
	if got := p.wanted(); got != 1 {
		t.Errorf("%d workers are wanted when the surge is over", got)
	}
}

// TestWhatASurgeLeftIsEnded: the workers of a surge do not stay.
func TestWhatASurgeLeftIsEnded(t *testing.T) {
	p := newPool(t, Config{Prepared: 1, MaxPrepared: 2})
	var calm func()
	p.warm.later = func(_ time.Duration, f func()) { calm = f }
	p.wantMore()
	child, err := p.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.returnUnused(child)
	if n := p.warm.count.Load(); n != 2 {
		t.Fatalf("%d workers are ready in a surge, want 2", n)
	}
	calm()
	if n := p.warm.count.Load(); n != 1 {
		t.Errorf("%d workers are ready after it, want 1", n)
	}
	late, err := p.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.returnUnused(late)
	<-late.gone // there is enough
}
