package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/host/runstore"
)

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

// abortStored forgets a run that only the store knows, and returns its last record.
func (e *engine) abortStored(ctx context.Context, s Session, id string) (*runstore.Record, *failure) {
	rec, err := e.recordFor(ctx, s, id)
	if err != nil {
		return nil, failureFromStore(err)
	}
	claim, err := e.store.Claim(ctx, id)
	if err != nil {
		return nil, failureFromStore(err)
	}
	defer claim.Release()
	if err := e.store.Delete(ctx, id); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return nil, failureFromStore(err)
	}
	e.cancelApprovals(ctx, rec.Calls)
	e.observeDiscarded(rec, failureFromCause(ErrAborted))
	return rec, nil
}
