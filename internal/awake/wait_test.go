package awake_test

import (
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
)

const ms = time.Millisecond

// TestWait looks at waits of two seconds at times that the clock may show.
func TestWait(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  []time.Duration // each look; those after are in time
		most  int             // looks
		ended time.Duration   // after the start
	}{
		{"nothing happens", nil, 8, 2 * time.Second},
		{"looks that are a little late", []time.Duration{200 * ms, 200 * ms, 200 * ms}, 8, 2 * time.Second},
		{"a pause at the start", []time.Duration{time.Minute}, 9, time.Minute + 2*time.Second},
		{"a pause over the end", []time.Duration{0, 0, 0, 0, 0, 0, 0, time.Minute}, 9, time.Minute + 2250*ms},
		{"two pauses over the end", []time.Duration{0, 0, 0, 0, 0, 0, 0, time.Minute, time.Minute}, 10, 2*time.Minute + 2500*ms},
	} {
		start := time.Now()
		now := start
		w := awake.Until(now, now.Add(2*time.Second))
		for looks := 1; ; looks++ {
			now = w.Look()
			if looks <= len(c.late) {
				now = now.Add(c.late[looks-1])
			}
			if w.Over(now) {
				break
			}
			if looks == c.most {
				t.Fatalf("%s: %d looks, and the wait goes on", c.name, looks)
			}
		}
		if got := now.Sub(start); got != c.ended {
			t.Errorf("%s: over after %v, want %v", c.name, got, c.ended)
		}
	}
}

// TestAWaitEndsThoughEachLookIsLate: who takes all processors gains a bounded time by it.
func TestAWaitEndsThoughEachLookIsLate(t *testing.T) {
	now := time.Now()
	w := awake.Until(now, now.Add(2*time.Second))
	for range 16 {
		now = w.Look().Add(time.Second)
		if w.Over(now) {
			return
		}
	}
	t.Error("the wait goes on after 16 looks")
}

// TestLeft: what is left does not shrink while the process stands still.
func TestLeft(t *testing.T) {
	now := time.Now()
	w := awake.Until(now, now.Add(2*time.Second))
	now = w.Look().Add(time.Minute)
	if w.Over(now) || w.Left(now) != 1750*ms || w.Left(now.Add(time.Hour)) != 0 {
		t.Errorf("left are %v, and after an hour %v", w.Left(now), w.Left(now.Add(time.Hour)))
	}
	if w.IsZero() || !new(awake.Wait).IsZero() {
		t.Error("the zero value alone is no wait")
	}
}

// TestAWaitThatIsOverAtOnce: its end is in the past, and this process has not stood still.
func TestAWaitThatIsOverAtOnce(t *testing.T) {
	now := time.Now()
	if w := awake.Until(now, now.Add(-time.Minute)); w.Look().After(now) || !w.Over(now) {
		t.Errorf("it is looked at %s later, and is not over", w.Look().Sub(now))
	}
}
