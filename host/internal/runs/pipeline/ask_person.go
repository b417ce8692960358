package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
)

// ask puts a call to a person. It puts no question if
// earlier decisions answer every request; else c.consent.question is the approval.
func (c *call) ask(ctx context.Context, asks []policy.Ask) (err error) {
	r := c.run
	asks, c.consent.approvals, err = policy.Unanswered(ctx, r.Env.ApprovalStore, c.subject, asks, time.Now())
	if err != nil || len(asks) == 0 {
		return err
	}
	a, err := policy.NewApproval(c.subject, asks, time.Now())
	if err != nil {
		return err
	}
	a.Granted = c.consent.approvals
	if c.tool != nil {
		a.SetInputSchema(c.tool.Parameters)
	}
	return c.put(a, nil)
}

// put puts an approval to people; then it is c.consent.question. Resume is what the tool gets back
// with their answers.
func (c *call) put(a *policy.Approval, resume json.RawMessage) error {
	r := c.run
	c.consent.question = nil
	if d := r.Env.Meters.Approvals.Take(quota.OwnerOf(r.Session), 1); d != nil {
		r.Env.ReportDenied(r.Session, d)
		return d
	}
	c.Asking = true
	defer func() {
		if c.consent.question == nil { // it failed or panicked
			c.questionOver()
		}
	}()
	err := r.put(a,
		func(keep time.Time) { r.Calls.Questions.Asked(c.Entry, a.ID, c.subject.Params, resume, keep) },
		func() { r.Calls.Questions.NotAsked(c.Entry, true) })
	if err == nil {
		c.consent.question = a
	}
	return err
}

// put adds an approval to the store once the table of calls and the journal have it: a
// question that belongs to no call would stay. Note learns until when the run is kept at
// least, so that a person who decides in time finds it, and then its caller. Forget undoes
// note.
func (r *Run) put(a *policy.Approval, note func(keep time.Time), forget func()) error {
	if err := r.Calls.Questions.MayAsk(time.Now(), r.Settings.MaxApprovals); err != nil {
		return err
	}
	a.Store = r.Env.StoreID()
	if err := r.ClaimToAsk(); err != nil {
		return err
	}
	note(a.Expires.Add(r.Settings.SnapshotTTL))
	r.Prolong()
	if err := r.Record.Journal(r.Background()); err != nil {
		return err
	}
	if err := r.Env.ApprovalStore.Add(r.Background(), a); err != nil {
		forget()
		return err
	}
	if r.HasEnded() {
		r.Env.CancelApproval(r.Background(), a.ID)
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
	c.run.Env.Logger.Error("no one could be asked for approval, so the call is denied", "run", c.run.ID, "call", c.subject.CallID, "tool", c.subject.ToolID, "error", err)
	return c.notMade(fault.Reject(fault.CodeDenied, "The call of %q was denied: it needs an approval, and no one could be asked.", c.subject.ToolName))
}

// questionOver frees the place that a call has among the session's questions.
func (c *call) questionOver() {
	if c.Asking {
		c.Asking = false
		c.run.Env.Meters.Approvals.Give(quota.OwnerOf(c.run.Session), 1)
	}
}
