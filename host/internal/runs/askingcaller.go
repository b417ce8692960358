package runs

import (
	"context"
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
