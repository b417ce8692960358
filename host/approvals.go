package host

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// Approvals is Host.Approvals.
func (e *engine) Approvals(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	return policy.Select(ctx, e.approvals, f, time.Now())
}

// Decide is Host.Decide.
func (e *engine) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	return policy.Decide(ctx, e.approvals, id, d, by, time.Now())
}

// Grants is Host.Grants.
func (e *engine) Grants(ctx context.Context) ([]*policy.Grant, error) {
	return policy.LiveGrants(ctx, e.approvals, time.Now())
}

// RevokeGrant is Host.RevokeGrant.
func (e *engine) RevokeGrant(ctx context.Context, id string) error {
	return e.approvals.Forget(ctx, id)
}

// announce tells the embedder of a new approval.
func (e *engine) announce(a *policy.Approval) {
	if e.onApproval == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			e.ReportPanic(duringObserver, p, "approval", a.ID)
		}
	}()
	e.onApproval(a)
}

// cancelApprovals ends the questions that calls wait for.
func (e *engine) cancelApprovals(ctx context.Context, calls []runstore.Call) {
	for _, c := range calls {
		if c.State == runstore.CallApproval {
			e.cancelApproval(ctx, c.Approval)
		}
	}
}

func (e *engine) cancelApproval(ctx context.Context, id string) {
	_, err := e.approvals.Resolve(ctx, id, policy.Resolution{State: policy.StateCancelled, At: time.Now()})
	if err != nil && !errors.Is(err, policy.ErrNotFound) {
		e.log.Error("the approval of a run that has ended was not cancelled; it expires", "approval", id, "error", err)
	}
}
