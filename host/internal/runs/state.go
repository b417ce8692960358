package runs

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// runState is what a run of this process does. A run has one state at a time. It
// changes only along the transitions of that table.
type runState uint32

// The states of a run.
const (
	// stateActive: a goroutine drives the run, or is about to: in Exec, in Wait, or to
	// end it. Until its program has started, a person may have to decide about it.
	stateActive runState = iota
	// stateParked: the guest is in the store. The run waits for a Wait.
	stateParked
	// stateEnding: the run has ended; its calls, its record and its questions to people
	// are being removed.
	stateEnding
	// stateEnded: nothing of the run is left.
	stateEnded
	// stateLeaving: this process lets go of the run and leaves the store as it is.
	// Another process, or this one later, may go on with it.
	stateLeaving
	// stateLeft: this process has let go of the run.
	stateLeft

	runStates // the number of states
)

// transitions are the states that may follow each state.
var transitions = [runStates][]runState{
	stateActive:  {stateParked, stateEnding, stateLeaving},
	stateParked:  {stateActive, stateLeaving},
	stateEnding:  {stateEnded},
	stateLeaving: {stateLeft},
}

// String names the state in messages of tests.
func (s runState) String() string {
	return [...]string{"active", "parked", "ending", "ended", "leaving", "left"}[s]
}

// lifecycle holds the state of a run and when it expires while it is parked.
type lifecycle struct {
	mu    calls.CountedMutex
	state atomic.Uint32 // a runState; written with mu held
	gone  chan struct{} // closed in the last state

	expiry     *time.Timer // nil before the run is parked
	expires    time.Time   // of a parked run
	imageBytes int         // of a parked run
}

// now returns the state of this moment.
func (l *lifecycle) now() runState { return runState(l.state.Load()) }

// hasEnded reports whether the run has been ended, so that nothing of it stays.
func (l *lifecycle) hasEnded() bool {
	s := l.now()
	return s == stateEnding || s == stateEnded
}

// isOver reports whether this process does nothing more for the run.
func (l *lifecycle) isOver() bool { return l.now() >= stateEnding }

// move changes the state and reports whether the table has such a transition. The
// caller holds mu.
func (l *lifecycle) move(to runState) bool {
	if !slices.Contains(transitions[l.now()], to) {
		return false
	}
	l.state.Store(uint32(to))
	switch to {
	case stateActive, stateEnding, stateLeaving:
		if l.expiry != nil {
			l.expiry.Stop()
		}
	case stateEnded, stateLeft:
		close(l.gone)
	}
	return true
}

// moveTo is move for a caller that does not hold mu.
func (l *lifecycle) moveTo(to runState) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.move(to)
}

// finishMove goes on to the last state after stateEnding or stateLeaving.
func (l *lifecycle) finishMove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.move(stateEnded) || l.move(stateLeft)
}
