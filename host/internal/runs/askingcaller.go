package runs

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/policy"
)

// askingKey is the context key of WithAskingCaller.
type askingKey struct{}

// WithAskingCaller returns a context for an Exec or Wait whose caller can ask people
// itself.
func WithAskingCaller(ctx context.Context) context.Context {
	return context.WithValue(ctx, askingKey{}, true)
}

// callerAsks reports whether the caller of an Exec or Wait asks people itself.
func callerAsks(ctx context.Context) bool { return ctx.Value(askingKey{}) != nil }

// isCallersTurn reports whether the run goes on only once the caller has asked a person.
// Where a decision is there and on its way to its call, the run goes on without.
func (d *driver) isCallersTurn(s callStatus) bool {
	if !d.callerAsks || s.blockedOnPeople == 0 || d.timerIsDue() {
		return false
	}
	list, err := policy.Select(d.ctx, d.run.engine.ApprovalStore, policy.Filter{RunID: d.run.id}, time.Now())
	return err == nil && len(list) >= s.blockedOnPeople
}
