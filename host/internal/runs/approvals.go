package runs

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/policy"
)

// Approvals is Host.Approvals.
func (e *Engine) Approvals(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	return policy.Select(ctx, e.ApprovalStore, f, time.Now())
}

// Decide is Host.Decide.
func (e *Engine) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	return policy.Decide(ctx, e.ApprovalStore, id, d, by, time.Now())
}

// Grants is Host.Grants.
func (e *Engine) Grants(ctx context.Context) ([]*policy.Grant, error) {
	return policy.LiveGrants(ctx, e.ApprovalStore, time.Now())
}

// RevokeGrant is Host.RevokeGrant.
func (e *Engine) RevokeGrant(ctx context.Context, id string) error {
	return e.ApprovalStore.Forget(ctx, id)
}
