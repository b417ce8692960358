package run

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

// StoreID names the store of runs; "" if it cannot be told from others.
func (e *Env) StoreID() string {
	if s, ok := e.Store.(runstore.Identified); ok {
		return s.Identity()
	}
	return ""
}

// HoldID holds the id of a run when its record goes before its questions do; else another
// host takes them for orphans. It returns how to give the id back.
func (e *Env) HoldID(ctx context.Context, id string) (release func()) {
	if store, ok := e.Store.(runstore.Identified); ok {
		if release, err := store.Reserve(ctx, id); err == nil {
			return release
		}
	}
	return func() {}
}

// Announce tells the embedder of a new approval.
func (e *Env) Announce(a *policy.Approval) {
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

// CancelApprovals ends the questions that calls wait for.
func (e *Env) CancelApprovals(ctx context.Context, waiting []runstore.Call) {
	for _, c := range waiting {
		if id := calls.AwaitedApproval(&c); id != "" {
			e.CancelApproval(ctx, id)
		}
	}
}

func (e *Env) CancelApproval(ctx context.Context, id string) {
	_, err := e.ApprovalStore.Resolve(ctx, id, policy.Resolution{State: policy.StateCancelled, At: time.Now()})
	if err != nil && !errors.Is(err, policy.ErrNotFound) {
		e.Logger.Error("the approval of a run that has ended was not cancelled; it expires", "approval", id, "error", err)
	}
}

// ClaimToAsk takes the claim of a run that is about to ask a person, or holds its id.
func (r *Run) ClaimToAsk() (err error) {
	store, ok := r.Env.Store.(runstore.Identified)
	if !ok {
		return nil
	}
	r.Record.Exclusive(func() {
		if r.IsOver() {
			err = context.Cause(r.Context)
			return
		}
		if r.Record.IsStored() {
			err = r.Record.EnsureClaim(r.Background())
		} else if f := r.Env.StoreAway(r.Background()); f != nil {
			err = f
		} else {
			err = r.Record.Reserve(r.Background(), store)
		}
		if err != nil {
			err = fault.FromStore(err)
		}
	})
	return err
}

// PendingApprovals are what people are asked about calls of the run, in the order of the
// calls. What the store cannot say is left out.
func (r *Run) PendingApprovals() (out []codemode.PendingApproval) {
	for _, id := range r.Calls.Questions.AwaitedApprovals() {
		a, err := r.Env.ApprovalStore.Get(r.Background(), id)
		if err != nil {
			r.Env.Logger.Warn("an approval that a run waits for could not be read", "run", r.ID, "approval", id, "error", err)
			continue
		}
		if a.State == policy.StatePending {
			out = append(out, PendingApproval(a))
		}
	}
	return out
}

// PendingApproval is an approval as a Result has it.
func PendingApproval(a *policy.Approval) codemode.PendingApproval {
	p := codemode.PendingApproval{
		ID: a.ID, CallID: a.CallID, ToolID: a.ToolID, Title: a.Title, Description: a.Description, Severity: string(a.Severity),
		Input: a.Input, InputCut: a.InputCut, Questions: a.Questions, Expires: a.Expires,
	}
	for _, d := range a.Allowed {
		p.Allowed = append(p.Allowed, string(d))
	}
	return p
}
