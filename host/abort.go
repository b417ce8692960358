package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/host/runstore"
)

// ErrAborted is the cause with which the calls of an aborted run end.
var ErrAborted = errors.New("the run was aborted")

// ErrSessionEnded is the cause with which the calls of a run end whose session
// has ended.
var ErrSessionEnded = errors.New("the session has ended")

// Abort is Host.Abort.
func (e *engine) Abort(ctx context.Context, s Session, runID string) *Result {
	r := e.runByID(runID)
	aborted := failf(CodeAborted, "", PhaseHost, "code mode run was aborted.")
	if r == nil {
		rec, f := e.abortStored(ctx, s, runID)
		if f != nil {
			return refused(e.explainMissing(f, s, runID))
		}
		return refused(withRecord(aborted, rec))
	}
	f := mayResume(r.session, s)
	if f == nil {
		f = r.abort(ctx, ErrAborted)
	}
	if f != nil {
		return refused(f)
	}
	return refused(withRun(aborted, r))
}

// EndSession is Host.EndSession.
func (e *engine) EndSession(ctx context.Context, s Session) (ended int, err error) {
	var errs []error
	count := func(id string, f *failure) {
		switch {
		case f == nil:
			ended++
		case f.Reason != ReasonRunUnavailable && f.Reason != ReasonRunExpired: // it ended by itself
			errs = append(errs, fmt.Errorf("run %s: %w", id, f))
		}
	}
	for _, r := range e.runsOf(s) {
		count(r.id, r.abort(ctx, ErrSessionEnded))
	}
	records, err := e.store.List(ctx)
	if err != nil {
		return ended, errors.Join(append(errs, err)...)
	}
	for _, rec := range records {
		if s.Covers(rec.Session) {
			_, f := e.abortStored(ctx, rec.Session, rec.ID)
			count(rec.ID, f)
		}
	}
	return ended, errors.Join(errs...)
}

// abort ends a run of this process. An active one is ended by its driver.
func (r *run) abort(ctx context.Context, cause error) *failure {
	for {
		f := r.activate()
		switch {
		case f == nil:
			// With the claim, no other host takes the run from the store before it is gone.
			if err := r.record.ensureClaim(r.background()); err != nil {
				return r.stayParked(ofStore(err))
			}
			r.finish(cause)
			return nil
		case f.Reason != ReasonRunBusy:
			return f
		case r.cancelIfActive(cause):
			select {
			case <-r.gone:
			case <-ctx.Done():
			}
			return nil
		}
		// It has been parked since.
	}
}

// abortStored forgets a run that only the store knows, and returns its last record.
func (e *engine) abortStored(ctx context.Context, s Session, id string) (*runstore.Record, *failure) {
	rec, err := e.recordFor(ctx, s, id)
	if err != nil {
		return nil, ofStore(err)
	}
	claim, err := e.store.Claim(ctx, id)
	if err != nil {
		return nil, ofStore(err)
	}
	defer claim.Release()
	if err := e.store.Delete(ctx, id); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return nil, ofStore(err)
	}
	e.cancelApprovals(ctx, rec.Calls)
	e.observeDiscarded(rec, ofCause(ErrAborted))
	return rec, nil
}
