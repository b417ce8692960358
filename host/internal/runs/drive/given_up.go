package drive

import (
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// leaveGivenUp lets go of a run that its record has given up. An active one is let go of
// by its driver.
func (r *Run) leaveGivenUp() {
	cause := r.Record.GaveUp()
	r.env.Guard(func() {
		for !r.IsOver() {
			if r.MoveTo(run.Active) {
				r.letGo(cause)
				return
			}
			if r.CancelIfActive(cause) {
				return
			}
		}
	})
}

// notEnded is why the run has not ended though this process is done with it; nil: it has.
func (r *Run) notEnded() *codemode.Error {
	if r.Now() == run.Left { // another host may go on with it
		return fault.FromStore(runstore.ErrClaimed)
	}
	if cause := r.Record.GaveUp(); cause != nil {
		return fault.FromStore(cause)
	}
	return nil
}

// givenUpResult is what the caller of a run gets that was given up: the advice to wait again.
func (r *Run) givenUpResult() *codemode.Result {
	f := fault.FromStore(r.Record.GaveUp())
	if f.Reason == codemode.ReasonStoreFailed {
		f = fault.Add(f, fault.KeptAsItWas)
	}
	return WithRun(f, r).Result()
}
