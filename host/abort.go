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

// Abort ends a run of the session: an Exec or Wait that is driving it returns
// with the code aborted, its tool calls are cancelled, and a suspended one is
// forgotten. The result is that of a Wait whose run has been aborted, or says
// why there is nothing to abort. It comes once the run is gone, or when ctx ends.
func (h *Host) Abort(ctx context.Context, s Session, runID string) *Result {
	r := h.runByID(runID)
	aborted := failf(CodeAborted, "", PhaseHost, "code mode run was aborted.")
	if r == nil {
		rec, f := h.abortStored(ctx, s, runID)
		if f != nil {
			return h.refused(h.explainMissing(f, s, runID))
		}
		return h.refused(withRecord(aborted, rec))
	}
	f := mayResume(r.session, s)
	if f == nil {
		f = r.abort(ctx, ErrAborted)
	}
	if f != nil {
		return h.refused(f)
	}
	return h.refused(withRun(aborted, r))
}

// EndSession ends every run of a session, in this process and in the store, as
// Abort does, and returns how many there were. If s names no agent turn, those of
// every turn end. It returns once they are gone, or when ctx ends. An error says
// which could not be ended, such as one that another process is driving.
func (h *Host) EndSession(ctx context.Context, s Session) (ended int, err error) {
	var errs []error
	count := func(id string, f *failure) {
		switch {
		case f == nil:
			ended++
		case f.Reason != ReasonRunUnavailable && f.Reason != ReasonRunExpired: // it ended by itself
			errs = append(errs, fmt.Errorf("run %s: %w", id, f))
		}
	}
	for _, r := range h.runsOf(s) {
		count(r.id, r.abort(ctx, ErrSessionEnded))
	}
	records, err := h.store.List(ctx)
	if err != nil {
		return ended, errors.Join(append(errs, err)...)
	}
	for _, rec := range records {
		if s.Covers(rec.Session) {
			_, f := h.abortStored(ctx, rec.Session, rec.ID)
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
			// With the claim, nobody takes the run from the store before it is gone.
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
func (h *Host) abortStored(ctx context.Context, s Session, id string) (*runstore.Record, *failure) {
	rec, err := h.recordFor(ctx, s, id)
	if err != nil {
		return nil, ofStore(err)
	}
	claim, err := h.store.Claim(ctx, id)
	if err != nil {
		return nil, ofStore(err)
	}
	defer claim.Release()
	if err := h.store.Delete(ctx, id); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return nil, ofStore(err)
	}
	h.cancelApprovals(ctx, rec.Calls)
	h.observeDiscarded(rec, ofCause(ErrAborted))
	return rec, nil
}
