package runs

import (
	"slices"
	"testing"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// TestTransitions: a run changes its state along the table and in no other way, and
// nothing waits for it any more once it has reached a last state.
func TestTransitions(t *testing.T) {
	t.Parallel()
	want := map[runState][]runState{
		stateActive:  {stateParked, stateEnding, stateLeaving},
		stateParked:  {stateActive, stateLeaving},
		stateEnding:  {stateEnded},
		stateLeaving: {stateLeft},
	}
	for from := range runStates {
		for to := range runStates {
			l := lifecycle{gone: make(chan struct{})}
			l.state.Store(uint32(from))
			allowed := slices.Contains(want[from], to)
			if moved := l.moveTo(to); moved != allowed {
				t.Errorf("from %v to %v: moved %v, want %v", from, to, moved, allowed)
			}
			if now := l.now(); allowed && now != to || !allowed && now != from {
				t.Errorf("from %v to %v: the state is %v", from, to, now)
			}
			if last := allowed && (to == stateEnded || to == stateLeft); calls.IsClosed(l.gone) != last {
				t.Errorf("from %v to %v: gone is %v, want %v", from, to, calls.IsClosed(l.gone), last)
			}
		}
	}
}

// TestEveryStateIsReached from stateActive, and every state but the last ones goes on.
func TestEveryStateIsReached(t *testing.T) {
	t.Parallel()
	reached := map[runState]bool{stateActive: true}
	for list := []runState{stateActive}; len(list) > 0; list = list[1:] {
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
		if last := s == stateEnded || s == stateLeft; last != (len(transitions[s]) == 0) {
			t.Errorf("%v is followed by %v", s, transitions[s])
		}
	}
}
