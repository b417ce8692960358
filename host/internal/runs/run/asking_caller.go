package run

import (
	"context"
)

// askingKey is the context key of WithAskingCaller.
type askingKey struct{}

// WithAskingCaller returns a context for an Exec or Wait by a caller that can ask people
// itself.
func WithAskingCaller(ctx context.Context) context.Context {
	return context.WithValue(ctx, askingKey{}, true)
}

// leavingKey is the context key of LeavesTheRun.
type leavingKey struct{}

// LeavesTheRun returns a context for a Wait that suspends its run when ctx ends, as when the
// time of its caller is over. The context itself does not end with ctx.
func LeavesTheRun(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), leavingKey{}, ctx)
}

// CallerOf returns the context that says how long the caller of a Wait is there, and what is
// closed when it leaves its run; nil: its run ends with it.
func CallerOf(ctx context.Context) (caller context.Context, leaves <-chan struct{}) {
	if caller, ok := ctx.Value(leavingKey{}).(context.Context); ok {
		return caller, caller.Done()
	}
	return ctx, nil
}

// CallerAsks reports whether the caller of an Exec or Wait asks people itself.
func CallerAsks(ctx context.Context) bool { return ctx.Value(askingKey{}) != nil }
