package guestrt

import (
	"testing"
	"time"
)

// TestBudget: a guest is told of less time than it has, by at most a quarter.
func TestBudget(t *testing.T) {
	if got := budget(time.Time{}); got != 0 {
		t.Errorf("without a deadline: %d, want none", got)
	}
	if got := budget(time.Now().Add(-time.Second)); got != 1 {
		t.Errorf("after the deadline: %d, want the least there is", got)
	}
	for _, left := range []time.Duration{100 * time.Millisecond, time.Second, time.Minute} {
		margin := min(softDeadlineMargin, left/4)
		got := time.Duration(budget(time.Now().Add(left))) * time.Microsecond
		for got < left-margin-left/100 { // the machine took a break
			got = time.Duration(budget(time.Now().Add(left))) * time.Microsecond
		}
		if got > left-margin {
			t.Errorf("of %s: %s, want at most %s", left, got, left-margin)
		}
	}
}
