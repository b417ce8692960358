package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
)

// Wait is Host.WaitFor.
func (e *Engine) Wait(ctx context.Context, s codemode.Session, runID string, wait time.Duration) *codemode.Result {
	a := e.Observer.Enter(ctx, ToolWait, s)
	return a.End(e.WaitThrough(ctx, a, s, runID, wait, nil, nil))
}

// WaitThrough is Wait of a run. If turn is not nil, the run has the tools of that model
// request; if d is not nil, d delivers its result.
func (e *Engine) WaitThrough(ctx context.Context, a *observe.Entry, s codemode.Session, runID string, wait time.Duration, turn *view.ClientTools, d *drive.Delivery) (res *codemode.Result) {
	defer e.containRefusal(&res)
	runID, wait = strings.TrimSpace(runID), e.SettingsOf(s).WaitTime(wait)
	tell, watched := relay(ctx)
	q := e.newRouter(cluster.Request{Verb: cluster.VerbWait, Run: runID, Session: s, ToolCallID: observe.ToolCallID(ctx), Watch: watched, Asks: run.CallerAsks(ctx)}, e.CallerGoes(ctx, a.Start, wait), tell)
	for {
		res, f := e.waitHere(ctx, a, s, runID, wait, turn, d)
		if f == nil {
			return res
		}
		again := false
		if held(f) {
			res, again = e.waitElsewhere(ctx, a, q, d)
		}
		switch {
		case again:
		case res != nil:
			return res
		default:
			return f.Result()
		}
	}
}

// waitHere is WaitThrough of a run that this host has or takes. The failure says why it
// does not: see held.
func (e *Engine) waitHere(ctx context.Context, a *observe.Entry, s codemode.Session, runID string, wait time.Duration, turn *view.ClientTools, d *drive.Delivery) (res *codemode.Result, _ *codemode.Error) {
	if f := e.enter(); f != nil {
		return nil, f
	}
	defer e.driving.Leave()
	if f := e.checkRunID(s, runID); f != nil {
		return nil, f
	}
	if f := e.StoreAway(ctx); f != nil {
		return nil, fault.Add(f, fault.KeptAsItWas)
	}
	defer e.advancer.YieldTo(ctx, runID)()
	r, rec, f := e.resumable(ctx, s, runID, wait, turn)
	if f != nil && errors.Is(f, runstore.ErrEnded) {
		var res *codemode.Result
		if res, f = e.delivered(ctx, s, runID, d); f == nil {
			a.Delivered()
			return res, nil
		}
	}
	if f != nil && f.Reason == codemode.ReasonStoreFailed {
		f = fault.Add(f, fault.KeptAsItWas)
	}
	if f != nil {
		return nil, e.explainMissing(f, s, runID)
	}
	res = r.Wait(ctx, a, rec, wait, d)
	if errors.Is(context.Cause(r.Context), runstore.ErrFenced) {
		return nil, fault.FromStore(runstore.ErrFenced)
	}
	return res, nil
}

// checkRunID refuses what cannot be a runId, with a hint at what it may be.
func (e *Engine) checkRunID(s codemode.Session, id string) *codemode.Error {
	if id == "" {
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput, "runId is empty. Give the runId of a result whose status is waiting.")
	}
	if run.IsID(id) {
		return nil
	}
	f := fault.FromStore(runstore.ErrNotFound)
	f.Message += fmt.Sprintf(" %q is not the id of one: give the runId of a result whose status is waiting, which is %s and 32 hexadecimal digits.", text.Cut(id, 64), run.Prefix)
	if tool, err := e.Views.SessionView(s).Catalog.Resolve(processTool); err == nil {
		f.Message += fmt.Sprintf(" To look after a process that a shell tool has started, call %s inside exec.", tool.ID())
	}
	return f
}

// processTool is the usual name of the tool that looks after what a shell tool has
// started. Models confuse the ids of the two.
const processTool = "process"

// resumable makes a suspended run active for the caller. The record is nil when only
// this process can have changed the run since it was stored.
func (v *reviver) resumable(ctx context.Context, s codemode.Session, id string, wait time.Duration, turn *view.ClientTools) (*drive.Run, *runstore.Record, *codemode.Error) {
	r := v.ByID(id)
	if r == nil {
		return v.load(ctx, s, id, wait, turn)
	}
	rec, elsewhere, f := r.Reopen(ctx, s)
	if elsewhere { // another process has resumed and parked the run in the meantime
		return v.load(ctx, s, id, wait, turn)
	}
	return r, rec, f
}

// Deliver is Host.Deliver.
func (e *Engine) Deliver(ctx context.Context, s codemode.Session, runID string, wait time.Duration) *drive.Delivery {
	ctx = run.LeavesTheRun(ctx)
	a := e.Observer.Enter(ctx, ToolWait, s)
	d := e.NewDelivery()
	d.Result = a.End(e.WaitThrough(ctx, a, s, runID, wait, nil, d))
	return d
}

// delivered returns the result of a run that has ended and was not delivered. Without
// d, the result counts as delivered.
func (e *Engine) delivered(ctx context.Context, s codemode.Session, id string, d *drive.Delivery) (*codemode.Result, *codemode.Error) {
	if _, err := e.ended(ctx, s, id); err != nil {
		return nil, fault.FromStore(err)
	}
	claim, err := e.Store.Claim(ctx, id)
	if err != nil {
		return nil, fault.FromStore(err)
	}
	stored, err := e.ended(ctx, s, id)
	if err != nil { // it may have been delivered by now
		claim.Release()
		return nil, fault.FromStore(err)
	}
	res := &codemode.Result{}
	if err := res.UnmarshalJSON(stored.Result); err != nil {
		claim.Release()
		return nil, codemode.Errorf(codemode.CodeInternal, codemode.ReasonRestoreFailed, codemode.PhaseHost, "the result of a run cannot be read: %v", err)
	}
	own := e.NewDelivery()
	if d == nil {
		d = own
	}
	d.Keep(id, claim)
	own.Done() // does nothing unless the caller brought no delivery
	return res, nil
}

// ended returns a result of the session's.
func (e *Engine) ended(ctx context.Context, s codemode.Session, id string) (*runstore.Ended, error) {
	stored, err := e.Store.Ended(ctx, id)
	if errors.Is(err, runstore.ErrExpired) {
		err = runstore.ErrNotFound // the run itself ended in time: this says nothing of its calls
	}
	if err != nil {
		return nil, err
	}
	if f := fault.MayResume(stored.Session, s); f != nil {
		return nil, f
	}
	return stored, nil
}

// explainMissing says more of a run that is not there any more. It advises to start a program
// again only if it is known to have called no tool.
func (e *Engine) explainMissing(f *codemode.Error, s codemode.Session, id string) *codemode.Error {
	if f.Reason == codemode.ReasonRunUnavailable && f.Phase == codemode.PhaseInput {
		recent := e.recent.find(id, s)
		if recent == nil {
			f = fault.Add(f, " A run can be waited for while its last result was waiting. Nothing is known of this one: if its program called tools, find out what they did before you start it again.")
			f.Dispatched = true // for all that is known
			return f
		}
		f = recent
	}
	if f.Reason != codemode.ReasonRunExpired {
		return f
	}
	advice := "It had called no tool: start the program again."
	if f.Dispatched {
		advice = "It had called tools: find out what they did before you start the program again."
	}
	return fault.Add(f, " It was not waited for in time: a suspended run is kept for %s after its last use, and after the question or the timer that it waits for (tools.codeMode.snapshotTtlSeconds). %s", e.SettingsOf(s).SnapshotTTL, advice)
}

// Advance resumes a run until it can only wait for more than a moment, or ctx ends. It
// reports whether the guest ran, or had nothing to run for; if not, the failure may say why.
func (e *Engine) Advance(ctx context.Context, s codemode.Session, id string) (advanced bool, _ *codemode.Error) {
	if f := e.enter(); f != nil {
		return false, f
	}
	defer e.driving.Leave()
	ctx = run.LeavesTheRun(ctx)
	r, rec, f := e.resumable(ctx, s, id, 0, nil)
	if f != nil {
		return false, f
	}
	kept := e.NewDelivery()
	defer kept.Release()
	return r.DriveUnattended(ctx, rec, kept)
}
