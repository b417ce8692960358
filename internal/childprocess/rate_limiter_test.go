package childprocess

import (
	"testing"
	"time"
)

func TestRateLimiter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	th := NewRateLimiter(3, 2, now)
	passed := func(n int) (passed int) {
		for range n {
			if th.Allow(now) {
				passed++
			}
		}
		return passed
	}
	if got := passed(5); got != 3 {
		t.Errorf("a burst of %d", got)
	}
	if a, b := th.Dropped(), th.Dropped(); a != 2 || b != 0 {
		t.Errorf("dropped %d, then %d", a, b)
	}
	now = now.Add(time.Second)
	if got := passed(5); got != 2 {
		t.Errorf("%d in the second after", got)
	}
	now = now.Add(time.Hour)
	if got := passed(5); got != 3 {
		t.Errorf("a burst of %d after an hour", got)
	}
}
