package host

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/runstore"
)

// UndoStatus says how far the effects of a run have been undone.
type UndoStatus string

// The statuses of an undo.
const (
	UndoOpen    UndoStatus = "open"    // there are effects that can be undone
	UndoDone    UndoStatus = "done"    // each effect that can be undone has been, or was skipped
	UndoWaiting UndoStatus = "waiting" // an inverse waits, mostly for a person; Waiting says for what
	UndoStopped UndoStatus = "stopped" // an inverse has failed; the effect says why
)

// RunEffects is what the calls of a run have changed, and how far that has been undone.
type RunEffects struct {
	RunID   string     `json:"runId"`
	Session Session    `json:"session"`
	Status  UndoStatus `json:"status"`
	Created time.Time  `json:"created"` // when the first of them was noted
	Expires time.Time  `json:"expires"`
	// Effects are in the order of the calls. Those with the state final or unknown cannot
	// be undone; Reason says why.
	Effects []runstore.Effect `json:"effects"`
	// Omitted counts calls that may have changed something and found no room: a journal has
	// runstore.MaxEffects, and 256 from before the first call that can be undone.
	Omitted int `json:"omitted,omitempty"`
	// Waiting is the result of the run that calls an inverse and waits.
	Waiting *Result `json:"waiting,omitempty"`
}

// UndoOptions say how to undo a run. The zero value undoes all that can be undone.
type UndoOptions struct {
	// Skip are ids of calls that are not undone, such as calls that a person has undone by
	// hand. They stay skipped.
	Skip []string
}

// Effects are what the calls of runs have changed.
type Effects struct{ engine runs.Effects }

// Effects returns what the calls of runs have changed.
func (h *Host) Effects() Effects { return Effects{runs.Effects{Engine: h.engine}} }

// Get returns what the calls of a run have changed, of any session;
// RunEffects.Session says which session the run belongs to. Get calls nothing: it returns
// what Undo would do. The host keeps the effects of a run that has called a tool which says
// how its calls are undone, for Settings.UndoTTL, if the store is a runstore.EffectStore. The
// error for another run is an *Error.
func (e Effects) Get(ctx context.Context, runID string) (*RunEffects, error) {
	j, err := e.engine.Get(ctx, runID)
	if err != nil {
		return nil, err
	}
	return effectsOf(j), nil
}

// List returns the runs of every session that have kept effects, the oldest first. They
// are without their effects.
func (e Effects) List(ctx context.Context) ([]*runstore.Effects, error) {
	return e.engine.List(ctx)
}

// Undo undoes the effects of a run of the session that has ended: it calls the inverse
// of each, the newest effect first, once. Each inverse is called by a run of its own, so
// that rules, hooks and approvals hold as for any call. Undo stops at the first inverse
// that fails or waits; calling it again continues there, also in another process and after a
// crash. A run that has been undone stays as it is.
//
// The error is an *Error: there is nothing to undo, the run has not ended, or it belongs
// to another session. When ctx ends, the inverse that is being called is given up.
func (e Effects) Undo(ctx context.Context, s Session, runID string, o UndoOptions) (*RunEffects, error) {
	u, err := e.engine.Undo(ctx, s, runID, o.Skip)
	if err != nil {
		return nil, err
	}
	out := effectsOf(u.Effects)
	out.Waiting = u.Waiting
	switch {
	case u.Waiting != nil:
		out.Status = UndoWaiting
	case u.Stopped:
		out.Status = UndoStopped
	}
	return out, nil
}

// effectsOf is a journal as callers get it.
func effectsOf(j *runstore.Effects) *RunEffects {
	out := &RunEffects{
		RunID: j.RunID, Session: j.Session, Status: UndoDone, Created: j.Created, Expires: j.Expires,
		Effects: []runstore.Effect{}, Omitted: j.Omitted,
	}
	for _, e := range j.Effects {
		switch e.State {
		case runstore.EffectNone:
			continue
		case runstore.EffectDone, runstore.EffectFailed, runstore.EffectReverting:
			out.Status = UndoOpen
		}
		out.Effects = append(out.Effects, e)
	}
	return out
}
