package runs

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// A write that answers runstore.ErrFenced says that another host has the run: this one
// was paused or cut off for longer than its claim lasted. The run is let go of at once.
// Its calls are cancelled, the store takes nothing more of it, and its caller gets no
// result but the advice to wait again.

// fence notes that the run belongs to another host. The caller may hold mu.
func (rec *record) fence() {
	if !rec.fenced.Swap(true) {
		rec.log.Warn("a run is let go of: another host has taken it over", "run", rec.id)
		if rec.lost != nil {
			rec.lost()
		}
	}
}

// held makes sure that the run is still this host's, and asks the store only after this host
// was paused or cut off for longer than its lease.
func (rec *record) held(ctx context.Context) error {
	if rec.fenced.Load() {
		return runstore.ErrFenced
	}
	rec.claimMu.Lock()
	claim, leased := rec.claim.(runstore.Leased)
	rec.claimMu.Unlock()
	if !leased || claim.Held() {
		return nil
	}
	err := claim.Renew(ctx)
	if errors.Is(err, runstore.ErrFenced) {
		rec.fence()
	}
	return err
}

// leaveFenced lets go of a run that belongs to another host. An active one is let go of by
// its driver.
func (r *run) leaveFenced() {
	r.engine.guard(func() {
		for !r.isOver() {
			if r.moveTo(stateActive) {
				r.letGo(runstore.ErrFenced)
				return
			}
			if r.cancelIfActive(runstore.ErrFenced) {
				return
			}
		}
	})
}

// fencedResult is what the caller of a run gets that belongs to another host.
func (r *run) fencedResult() *codemode.Result {
	return withRun(failureFromStore(runstore.ErrFenced), r).Result()
}
