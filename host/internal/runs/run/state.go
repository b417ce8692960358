package run

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// State is what a run of this process does. A run has one state at a time. It
// changes only along the transitions of that table.
type State uint32

// The states of a run.
const (
	// Active: a goroutine drives the run, or is about to: in Exec, in Wait, or to
	// end it. Until its program has started, a person may have to decide about it.
	Active State = iota
	// Parked: the guest is in the store. The run waits for a Wait.
	Parked
	// Ending: the run has ended; its calls, its record and its questions to people
	// are being removed.
	Ending
	// Ended: nothing of the run is left.
	Ended
	// Leaving: this process releases the run and leaves the store as it is. Another process,
	// or this one later, may resume it.
	Leaving
	// Left: this process has released the run.
	Left

	runStates // the number of states
)

// transitions are the states that may follow each state.
var transitions = [runStates][]State{
	Active:  {Parked, Ending, Leaving},
	Parked:  {Active, Leaving},
	Ending:  {Ended},
	Leaving: {Left},
}

// String names the state in messages of tests.
func (s State) String() string {
	return [...]string{"active", "parked", "ending", "ended", "leaving", "left"}[s]
}

// lifecycle holds the state of a run and when it expires while it is parked.
type lifecycle struct {
	Mu    calls.CountedMutex
	state atomic.Uint32 // a State; written with mu held
	Gone  chan struct{} // closed in the last state

	Expiry     *time.Timer // nil before the run is parked
	Expires    time.Time   // of a parked run
	ImageBytes int         // of a parked run
}

// Now returns the state of this moment.
func (l *lifecycle) Now() State { return State(l.state.Load()) }

// HasEnded reports whether the run has been ended, so that nothing of it stays.
func (l *lifecycle) HasEnded() bool {
	s := l.Now()
	return s == Ending || s == Ended
}

// IsOver reports whether this process does nothing more for the run.
func (l *lifecycle) IsOver() bool { return l.Now() >= Ending }

// Move changes the state and reports whether the table has such a transition. The
// caller holds mu.
func (l *lifecycle) Move(to State) bool {
	if !slices.Contains(transitions[l.Now()], to) {
		return false
	}
	l.state.Store(uint32(to))
	switch to {
	case Active, Ending, Leaving:
		if l.Expiry != nil {
			l.Expiry.Stop()
		}
	case Ended, Left:
		close(l.Gone)
	}
	return true
}

// MoveTo is move for a caller that does not hold mu.
func (l *lifecycle) MoveTo(to State) bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.Move(to)
}

// FinishMove moves to the last state after Ending or Leaving.
func (l *lifecycle) FinishMove() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	_ = l.Move(Ended) || l.Move(Left)
}

// ParkedUntil is when the run expires that this process has parked last.
func (l *lifecycle) ParkedUntil() time.Time {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.Expires
}

// IsPastExpiry reports whether the time of the parked run is over.
func (l *lifecycle) IsPastExpiry() bool { return !time.Now().Before(l.ParkedUntil()) }
