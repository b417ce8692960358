package statecopy

import (
	"context"
	"errors"
	"fmt"
)

// ErrMoving says that a state is being moved to another one, and no host may use it. Match with
// errors.Is.
var ErrMoving = errors.New("the state is being moved to another one: repeat the quoin state move that was interrupted")

// ErrInUse says that a process uses a state that is to be moved. Match with errors.Is.
var ErrInUse = errors.New("the state is in use: stop each quoin that uses it")

// State is a state that can be copied and moved.
type State interface {
	Source
	// Import adds all that do adds, or nothing, and returns what do returns. It remembers that by
	// the origin, unless that is empty: for an origin that was imported before, it does nothing
	// else than to return what it remembers.
	Import(ctx context.Context, origin string, do func(Into) ([]Outcome, error)) ([]Outcome, error)
	// StartMove marks the state, so that no host opens it, and returns the origin for Import: the
	// same when a move to the same state is repeated. The errors are ErrInUse, and ErrMoving where
	// the state is being moved elsewhere.
	StartMove(ctx context.Context, to string) (origin string, err error)
	// EndMove removes what was copied, but for the pins, with which hosts of this state
	// compare tools later. It removes the mark, too.
	EndMove(ctx context.Context, outcomes []Outcome) error
}

// CopyTo adds to a state what another one has, and keeps. It leaves the journals of effects.
func CopyTo(ctx context.Context, from Source, to State) ([]Outcome, error) {
	return to.Import(ctx, "", func(into Into) ([]Outcome, error) {
		return copyAll(ctx, from, to.Identity(), into, "journals of effects are not copied: a call must not be undone twice")
	})
}

// errNot says that an origin was not imported.
var errNot = errors.New("it was not imported")

// Move moves what a state has. What is left stays in both.
func Move(ctx context.Context, from, to State) ([]Outcome, error) {
	if from.Identity() == to.Identity() {
		return nil, errors.New("both are the same state, or one is a copy of the other")
	}
	origin, err := from.StartMove(ctx, to.Identity())
	if err != nil {
		return nil, err
	}
	outcomes, err := to.Import(ctx, origin, func(into Into) ([]Outcome, error) { return Copy(ctx, from, to.Identity(), into) })
	ctx = context.WithoutCancel(ctx) // it is soon over, or never
	if err != nil {
		_, imported := to.Import(ctx, origin, func(Into) ([]Outcome, error) { return nil, errNot })
		if !errors.Is(imported, errNot) {
			return nil, fmt.Errorf("repeat the command, before which no host opens the state: %w", err)
		}
		return nil, errors.Join(err, from.EndMove(ctx, nil))
	}
	return outcomes, from.EndMove(ctx, outcomes)
}
