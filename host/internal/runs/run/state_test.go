package run

import (
	"slices"
	"testing"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// TestTransitions: a run changes its state along the table and in no other way, and
// nothing waits for it any more once it has reached a last state.
func TestTransitions(t *testing.T) {
	t.Parallel()
	want := map[State][]State{
		Active:  {Parked, Ending, Leaving},
		Parked:  {Active, Leaving},
		Ending:  {Ended},
		Leaving: {Left},
	}
	for from := range runStates {
		for to := range runStates {
			l := lifecycle{Gone: make(chan struct{})}
			l.state.Store(uint32(from))
			allowed := slices.Contains(want[from], to)
			if moved := l.MoveTo(to); moved != allowed {
				t.Errorf("from %v to %v: moved %v, want %v", from, to, moved, allowed)
			}
			if now := l.Now(); allowed && now != to || !allowed && now != from {
				t.Errorf("from %v to %v: the state is %v", from, to, now)
			}
			if last := allowed && (to == Ended || to == Left); calls.IsClosed(l.Gone) != last {
				t.Errorf("from %v to %v: gone is %v, want %v", from, to, calls.IsClosed(l.Gone), last)
			}
		}
	}
}

// TestEveryStateIsReached from Active, and every state but the last ones has a next one.
func TestEveryStateIsReached(t *testing.T) {
	t.Parallel()
	reached := map[State]bool{Active: true}
	for list := []State{Active}; len(list) > 0; list = list[1:] {
		for _, to := range transitions[list[0]] {
			if !reached[to] {
				reached[to] = true
				list = append(list, to)
			}
		}
	}
	for s := range runStates {
		if !reached[s] {
			t.Errorf("no run is ever %v", s)
		}
		if last := s == Ended || s == Left; last != (len(transitions[s]) == 0) {
			t.Errorf("%v is followed by %v", s, transitions[s])
		}
	}
}
