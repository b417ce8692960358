package journal

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/host/runstore"
)

// A write that answers runstore.ErrFenced says that another host has the run: this one was
// paused or cut off for longer than its claim lasted. The run is released at once. Its calls
// are cancelled, the store takes nothing more of it, and its caller gets no result but the
// advice to wait again.

// So is a run after a write with an unknown outcome: it has failed, and may have been made
// although it has. Nothing that goes by such a write is told to the program, to the caller
// or to a tool. The run continues later, from what the store has.

// GiveUp has this process release the run. The caller may hold mu.
func (rec *Record) GiveUp(cause error) {
	if !rec.cause.CompareAndSwap(nil, &cause) {
		return
	}
	if errors.Is(cause, runstore.ErrFenced) {
		rec.log.Warn("a run is let go of: another host has taken it over", "run", rec.id)
	} else {
		rec.log.Error("a run is let go of: the store may or may not have its newest state", "run", rec.id, "error", cause)
	}
	if rec.owner.Lost != nil {
		rec.owner.Lost()
	}
}

// GaveUp is why the run was given up; nil: it was not.
func (rec *Record) GaveUp() error {
	if cause := rec.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

// Held makes sure that the run is still this host's, and asks the store only after this host
// was paused or cut off for longer than its lease.
func (rec *Record) Held(ctx context.Context) error {
	if cause := rec.GaveUp(); cause != nil {
		return cause
	}
	if !rec.leased.Load() {
		return nil
	}
	rec.claimMu.Lock()
	claim, leased := rec.claim.(runstore.Leased)
	rec.claimMu.Unlock()
	if !leased || claim.Held() {
		return nil
	}
	err := claim.Renew(ctx)
	if errors.Is(err, runstore.ErrFenced) {
		rec.GiveUp(err)
	}
	return err
}
