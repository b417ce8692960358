package runs

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// storeID names the store of runs; "" if it cannot be told from others.
func (e *baseEnv) storeID() string {
	if s, ok := e.Store.(runstore.Identified); ok {
		return s.Identity()
	}
	return ""
}

// holdID holds the id of a run whose record goes before its questions do, or another host
// takes them for orphans. It returns how to give the id back.
func (e *baseEnv) holdID(ctx context.Context, id string) (release func()) {
	if store, ok := e.Store.(runstore.Identified); ok {
		if release, err := store.Reserve(ctx, id); err == nil {
			return release
		}
	}
	return func() {}
}

// announce tells the embedder of a new approval.
func (e *baseEnv) announce(a *policy.Approval) {
	if e.OnApproval == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			e.ReportPanic(DuringObserver, p, "approval", a.ID)
		}
	}()
	e.OnApproval(a)
}

// cancelApprovals ends the questions that calls wait for.
func (e *baseEnv) cancelApprovals(ctx context.Context, waiting []runstore.Call) {
	for _, c := range waiting {
		if id := calls.AwaitedApproval(&c); id != "" {
			e.cancelApproval(ctx, id)
		}
	}
}

func (e *baseEnv) cancelApproval(ctx context.Context, id string) {
	_, err := e.ApprovalStore.Resolve(ctx, id, policy.Resolution{State: policy.StateCancelled, At: time.Now()})
	if err != nil && !errors.Is(err, policy.ErrNotFound) {
		e.Logger.Error("the approval of a run that has ended was not cancelled; it expires", "approval", id, "error", err)
	}
}

// claimToAsk takes the claim of a run that is about to ask a person, or holds its id.
func (r *baseRun) claimToAsk() (err error) {
	store, ok := r.env.Store.(runstore.Identified)
	if !ok {
		return nil
	}
	r.record.Exclusive(func() {
		if r.isOver() {
			err = context.Cause(r.ctx)
			return
		}
		if r.record.IsStored() {
			err = r.record.EnsureClaim(r.background())
		} else if f := r.env.storeAway(r.background()); f != nil {
			err = f
		} else {
			err = r.record.Reserve(r.background(), store)
		}
		if err != nil {
			err = fault.FromStore(err)
		}
	})
	return err
}

// pendingApprovals are what people are asked about calls of the run, in the order of the
// calls. What the store cannot say is left out.
func (r *baseRun) pendingApprovals() (out []codemode.PendingApproval) {
	for _, id := range r.calls.AwaitedApprovals() {
		a, err := r.env.ApprovalStore.Get(r.background(), id)
		if err != nil {
			r.env.Logger.Warn("an approval that a run waits for could not be read", "run", r.id, "approval", id, "error", err)
			continue
		}
		if a.State == policy.StatePending {
			out = append(out, pendingApproval(a))
		}
	}
	return out
}

// pendingApproval is an approval as a Result has it.
func pendingApproval(a *policy.Approval) codemode.PendingApproval {
	p := codemode.PendingApproval{
		ID: a.ID, CallID: a.CallID, ToolID: a.ToolID, Title: a.Title, Description: a.Description, Severity: string(a.Severity),
		Input: a.Input, InputCut: a.InputCut, Questions: a.Questions, Expires: a.Expires,
	}
	for _, d := range a.Allowed {
		p.Allowed = append(p.Allowed, string(d))
	}
	return p
}
