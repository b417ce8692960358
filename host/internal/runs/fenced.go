package runs

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
)

// A write that answers runstore.ErrFenced says that another host has the run: this one
// was paused or cut off for longer than its claim lasted. The run is let go of at once.
// Its calls are cancelled, the store takes nothing more of it, and its caller gets no
// result but the advice to wait again.

// So is a run after a write whose outcome is unknown: it has failed, and may have
// been made although it has. Nothing that goes by such a write is told to the program, to
// the caller or to a tool. The run goes on later, from what the store has.

// countFenced counts a write of a run that was refused because another host has it, and
// returns the error of the write. Each write of the store goes through it.
func (e *Engine) countFenced(err error) error {
	if errors.Is(err, runstore.ErrFenced) {
		e.Observer.Metrics.WriteFenced()
	}
	return err
}

// giveUp has this process let go of the run. The caller may hold mu.
func (rec *record) giveUp(cause error) {
	if !rec.cause.CompareAndSwap(nil, &cause) {
		return
	}
	if errors.Is(cause, runstore.ErrFenced) {
		rec.log.Warn("a run is let go of: another host has taken it over", "run", rec.id)
	} else {
		rec.log.Error("a run is let go of: the store may or may not have its newest state", "run", rec.id, "error", cause)
	}
	if rec.lost != nil {
		rec.lost()
	}
}

// gaveUp is why the run was given up; nil: it was not.
func (rec *record) gaveUp() error {
	if cause := rec.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

// held makes sure that the run is still this host's, and asks the store only after this host
// was paused or cut off for longer than its lease.
func (rec *record) held(ctx context.Context) error {
	if cause := rec.gaveUp(); cause != nil {
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
		rec.giveUp(err)
	}
	return err
}

// leaveGivenUp lets go of a run that its record has given up. An active one is let go of
// by its driver.
func (r *run) leaveGivenUp() {
	cause := r.record.gaveUp()
	r.engine.guard(func() {
		for !r.isOver() {
			if r.moveTo(stateActive) {
				r.letGo(cause)
				return
			}
			if r.cancelIfActive(cause) {
				return
			}
		}
	})
}

// notEnded is why the run has not ended though this process is done with it; nil: it has.
func (r *run) notEnded() *codemode.Error {
	if r.now() == stateLeft { // another host may go on with it
		return fault.FromStore(runstore.ErrClaimed)
	}
	if cause := r.record.gaveUp(); cause != nil {
		return fault.FromStore(cause)
	}
	return nil
}

// givenUpResult is what the caller of a run gets that was given up: the advice to wait again.
func (r *run) givenUpResult() *codemode.Result {
	f := fault.FromStore(r.record.gaveUp())
	if f.Reason == codemode.ReasonStoreFailed {
		f = fault.Add(f, fault.KeptAsItWas)
	}
	return withRun(f, r).Result()
}
