package host

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/policy"
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
