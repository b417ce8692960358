package drive

import (
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// finish ends the run. No call of it continues and nothing of it stays stored.
func (r *Run) finish(cause error) { r.finishWith(cause, func() *codemode.Result { return nil }) }

// finishWith is finish for a run with a result that is wanted. The store keeps the result if
// it is to be delivered.
func (r *Run) finishWith(cause error, result func() *codemode.Result) (res *codemode.Result) {
	if cause := r.Record.GaveUp(); cause != nil {
		r.letGo(cause)
		return r.givenUpResult()
	}
	defer r.FinishMove() // a wait that finds the run until it is removed waits for that
	defer r.env.Home.Remove(r)
	questions := r.Stop(run.Ending, cause)
	res = result()
	r.Record.Exclusive(func() {
		defer r.Record.DropClaim()
		if len(questions) > 0 {
			defer r.env.HoldID(r.Background(), r.ID)()
		}
		if !r.driver.keepResult(res) {
			r.Record.Forget(r.Background())
		}
		if r.Record.GaveUp() == nil {
			r.env.CancelApprovals(r.Background(), questions)
		}
	})
	if r.Record.GaveUp() != nil {
		return r.givenUpResult()
	}
	r.env.Home.Remember(r.ID, r.Session, WithRun(fault.Ended(cause), r))
	r.Observed.Ended(fault.FromCause(cause), r.driver.usage)
	return res
}

// letGo ends what the run does in this process and leaves the store as it is.
func (r *Run) letGo(cause error) {
	defer r.FinishMove()
	r.Stop(run.Leaving, cause)
	r.env.Home.Remove(r)
	r.Record.DropClaim()
}

// Stop ends what the run does in this process; the caller removes it. It closes the
// table of calls before it cancels the calls, so that no call records its cancellation
// as an answer. It returns the calls that wait for approval.
func (r *Run) Stop(to run.State, cause error) (onApproval []runstore.Call) {
	r.MoveTo(to)
	onApproval = r.Calls.Close()
	r.replay.Drop()
	r.Cancel(cause)
	return onApproval
}

// keepResult stores the result of a run of the store that has ended, if it is to be
// delivered, and hands the run's claim to the delivery. The caller runs it
// in record.exclusive.
func (c *caller) keepResult(res *codemode.Result) (kept bool) {
	r := c.run
	if c.delivery == nil || !r.Record.IsStored() || res == nil || c.unattended && r.EndedByCaller() {
		return false
	}
	var claim runstore.Claim
	b, err := res.MarshalJSON()
	if err == nil {
		// Who was told until when the run is kept finds its result until then.
		claim, err = r.Record.End(r.Background(), &runstore.Ended{
			ID: r.ID, Session: r.Session, Expires: calls.Later(c.keptUntil, time.Now().Add(r.Settings.SnapshotTTL)), Result: b,
		})
	}
	if errors.Is(err, runstore.ErrFenced) {
		return false
	}
	if err != nil {
		if fault.MayBeWritten(err) { // else the caller would have a result of a run that continues
			r.Record.GiveUp(err)
			return false
		}
		r.env.Logger.Error("the result of a run was not stored: it is lost unless it arrives", "run", r.ID, "error", err)
		return c.unattended // its record stays, so that the run can continue from there
	}
	c.delivery.Keep(r.ID, claim)
	return true
}

// notEnded is why the run has not ended though this process is done with it; nil: it has.
func (r *Run) notEnded() *codemode.Error {
	if r.Now() == run.Left { // another host may resume it
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

// leave releases a run when its newest state could not be stored, if the store has a true
// account of it: a later Wait resumes from there, as after the end of a host. It reports
// whether the store has one.
func (r *Run) leave(cause error) (kept bool) {
	r.Record.Exclusive(func() { kept = r.Record.Valid() && !r.Record.IsVolatile() })
	if kept {
		r.letGo(cause)
	}
	return kept
}
