package host

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// Approvals lists the calls that wait for a person, of every run in the store of
// approvals, or those that f chooses.
func (h *Host) Approvals(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	return policy.Select(ctx, h.approvals, f, time.Now())
}

// Decide enters what a person has decided about an approval; by says who, for the
// record. It returns the approval as it is then. The same decision again is no
// error. See policy.Decide for the errors.
//
// Whoever may call Decide may allow anything: who that is, is up to the embedder.
func (h *Host) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	return policy.Decide(ctx, h.approvals, id, d, by, time.Now())
}

// Grants lists what was decided with allow-always and still answers, oldest first.
func (h *Host) Grants(ctx context.Context) ([]*policy.Grant, error) {
	return policy.LiveGrants(ctx, h.approvals, time.Now())
}

// RevokeGrant forgets an allow-always: the next call that it would have answered
// asks again. The error is policy.ErrNotFound if there is no such grant.
func (h *Host) RevokeGrant(ctx context.Context, id string) error { return h.approvals.Forget(ctx, id) }

// announce tells the embedder of a new approval.
func (h *Host) announce(a *policy.Approval) {
	if h.cfg.OnApproval == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			h.ReportPanic(duringObserver, p, "approval", a.ID)
		}
	}()
	h.cfg.OnApproval(a)
}

// cancelApprovals ends the questions that calls wait for.
func (h *Host) cancelApprovals(ctx context.Context, calls []runstore.Call) {
	for _, c := range calls {
		if c.State == runstore.CallApproval {
			h.cancelApproval(ctx, c.Approval)
		}
	}
}

func (h *Host) cancelApproval(ctx context.Context, id string) {
	_, err := h.approvals.Resolve(ctx, id, policy.Resolution{State: policy.StateCancelled, At: time.Now()})
	if err != nil && !errors.Is(err, policy.ErrNotFound) {
		h.log.Error("the approval of a run that has ended was not cancelled; it expires", "approval", id, "error", err)
	}
}
