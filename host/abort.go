package host

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/host/runstore"
)

// ErrAborted is the cause with which the calls of an aborted run end.
var ErrAborted = errors.New("the run was aborted")

// Abort ends a run of the session: an Exec or Wait that is driving it returns
// with the code aborted, its tool calls are cancelled, and a suspended one is
// forgotten. The result is that of a Wait whose run has been aborted, or says
// why there is nothing to abort.
func (h *Host) Abort(ctx context.Context, s Session, runID string) *Result {
	h.mu.Lock()
	r := h.runs[runID]
	h.mu.Unlock()
	var f *failure
	if r != nil {
		f = r.abort(s)
	} else {
		f = h.abortStored(ctx, s, runID)
	}
	if f == nil {
		f = failf(CodeAborted, "", PhaseHost, "code mode run was aborted.")
	}
	return h.refused(f)
}

// abort ends a run of this process. An active one is ended by its driver.
func (r *run) abort(s Session) *failure {
	if f := mayResume(r.session.stored(), s.stored()); f != nil {
		return f
	}
	if f := r.activate(); f == nil {
		r.finish(ErrAborted)
		return nil
	}
	r.cancel(ErrAborted)
	return nil
}

// abortStored forgets a run that only the store knows.
func (h *Host) abortStored(ctx context.Context, s Session, id string) *failure {
	rec, err := h.store.Get(ctx, id)
	if err != nil {
		return ofStore(err)
	}
	if f := mayResume(rec.Session, s.stored()); f != nil {
		return f
	}
	claim, err := h.store.Claim(ctx, id)
	if err != nil {
		return ofStore(err)
	}
	defer claim.Release()
	if err := h.store.Delete(ctx, id); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return ofStore(err)
	}
	h.tellBuried(rec, ofCause(ErrAborted))
	return nil
}
