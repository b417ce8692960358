package drive

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// Abort ends a run of this process. An active one is ended by its driver. It fails if this
// process has released the run instead: another host may resume it.
func (r *Run) Abort(ctx context.Context, cause error) *codemode.Error {
	for {
		f := r.activate()
		switch {
		case f == nil:
			return r.endActivated(cause)
		case f.Reason != codemode.ReasonRunBusy:
			return f
		case r.CancelIfActive(cause):
			select {
			case <-r.Gone:
				return r.notEnded()
			case <-ctx.Done():
				return nil
			}
		}
		// It has been parked since.
	}
}

// endActivated ends a run that activate has taken out of its park.
func (r *Run) endActivated(cause error) (f *codemode.Error) {
	defer r.ContainReopen(&f)
	// With the claim, no other host takes the run from the store before it is gone.
	if err := r.Record.EnsureClaim(r.Background()); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return r.stayParked(fault.FromStore(err))
	}
	r.finish(cause)
	return r.notEnded()
}

// goes reports whether a run is over, and waits until this process does nothing more for it.
func (r *Run) goes(ctx context.Context) bool {
	if !r.IsOver() {
		return false
	}
	select {
	case <-r.Gone:
	case <-ctx.Done():
	}
	return true
}

// HasLeft is goes, and reports whether the store may have the run still.
func (r *Run) HasLeft(ctx context.Context) bool { return r.goes(ctx) && r.Now() == run.Left }

// LeaveIdle releases an idle run, unless it has run here since.
func (r *Run) LeaveIdle(as journal.Version) (left bool) {
	r.Record.Exclusive(func() {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		left = r.IsIdle() && r.Record.Version() == as && r.Move(run.Leaving)
	})
	if left {
		r.letGo(runstore.ErrClaimed)
	}
	return left
}
