package runs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// ask puts a call to a person. It puts no question if
// earlier decisions answer every request; else c.question is the approval.
func (c *call) ask(ctx context.Context, asks []policy.Ask) (err error) {
	r := c.run
	asks, c.approvals, err = policy.Unanswered(ctx, r.engine.ApprovalStore, c.subject, asks, time.Now())
	if err != nil || len(asks) == 0 {
		return err
	}
	a, err := policy.NewApproval(c.subject, asks, time.Now())
	if err != nil {
		return err
	}
	a.Granted = c.approvals
	if c.tool != nil {
		a.SetInputSchema(c.tool.Parameters)
	}
	return c.put(a, nil)
}

// put puts an approval to people; then it is c.question. Resume is what the tool gets back
// with their answers.
func (c *call) put(a *policy.Approval, resume json.RawMessage) error {
	r := c.run
	c.question = nil
	if d := r.engine.meters.approvals.Take(quota.OwnerOf(r.session), 1); d != nil {
		r.engine.ReportDenied(r.session, d)
		return d
	}
	c.Asking = true
	defer func() {
		if c.question == nil { // it failed or panicked
			c.questionOver()
		}
	}()
	err := r.put(a,
		func(keep time.Time) { r.calls.QuestionAsked(c.Entry, a.ID, c.subject.Params, resume, keep) },
		func() { r.calls.NotAsked(c.Entry, true) })
	if err == nil {
		c.question = a
	}
	return err
}

// put adds an approval to the store once the table of calls and the journal have it: a
// question that belongs to no call would stay. Note learns until when the run is kept at
// least, so that a person who decides in time finds it, and then its caller. Forget undoes
// note.
func (r *run) put(a *policy.Approval, note func(keep time.Time), forget func()) error {
	if err := r.calls.MayAsk(time.Now(), r.settings.MaxApprovals); err != nil {
		return err
	}
	a.Store = r.engine.storeID()
	if err := r.claimToAsk(); err != nil {
		return err
	}
	note(a.Expires.Add(r.settings.SnapshotTTL))
	r.prolong()
	if err := r.record.Journal(r.background()); err != nil {
		return err
	}
	if err := r.engine.ApprovalStore.Add(r.background(), a); err != nil {
		forget()
		return err
	}
	if r.hasEnded() {
		r.engine.cancelApproval(r.background(), a.ID)
	}
	return nil
}

// NotAsked rejects a call that no one could be asked about.
func (c *call) notAsked(err error) *fault.Rejection {
	var denied *quota.Denied
	if errors.As(err, &denied) {
		return c.notMade(fault.Reject(fault.CodeQuota, "The call of %q was not made: it needs an approval, and %v. Wait until some are decided.", c.subject.ToolName, denied))
	}
	var often *calls.AskedTooOften
	if errors.As(err, &often) {
		return c.notMade(fault.Reject(fault.CodeQuota, "The call of %q was not made: %v.", c.subject.ToolName, err))
	}
	c.run.engine.Logger.Error("no one could be asked for approval, so the call is denied", "run", c.run.id, "call", c.subject.CallID, "tool", c.subject.ToolID, "error", err)
	return c.notMade(fault.Reject(fault.CodeDenied, "The call of %q was denied: it needs an approval, and no one could be asked.", c.subject.ToolName))
}

// questionOver frees the place that a call has among the session's questions.
func (c *call) questionOver() {
	if c.Asking {
		c.Asking = false
		c.run.engine.meters.approvals.Give(quota.OwnerOf(c.run.session), 1)
	}
}

// storeID names the store of runs; "" if it cannot be told from others.
func (e *Engine) storeID() string {
	if s, ok := e.Store.(runstore.Identified); ok {
		return s.Identity()
	}
	return ""
}

// claimToAsk takes the claim of a run that is about to ask a person, or holds its id.
func (r *run) claimToAsk() (err error) {
	store, ok := r.engine.Store.(runstore.Identified)
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
		} else if f := r.engine.storeAway(r.background()); f != nil {
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

// holdID holds the id of a run whose record goes before its questions do, or another host
// takes them for orphans. It returns how to give the id back.
func (e *Engine) holdID(ctx context.Context, id string) (release func()) {
	if store, ok := e.Store.(runstore.Identified); ok {
		if release, err := store.Reserve(ctx, id); err == nil {
			return release
		}
	}
	return func() {}
}

// announce tells the embedder of a new approval.
func (e *Engine) announce(a *policy.Approval) {
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
func (e *Engine) cancelApprovals(ctx context.Context, waiting []runstore.Call) {
	for _, c := range waiting {
		if id := calls.AwaitedApproval(&c); id != "" {
			e.cancelApproval(ctx, id)
		}
	}
}

func (e *Engine) cancelApproval(ctx context.Context, id string) {
	_, err := e.ApprovalStore.Resolve(ctx, id, policy.Resolution{State: policy.StateCancelled, At: time.Now()})
	if err != nil && !errors.Is(err, policy.ErrNotFound) {
		e.Logger.Error("the approval of a run that has ended was not cancelled; it expires", "approval", id, "error", err)
	}
}
