package documents

import (
	"context"
	"errors"
	"slices"
)

// ErrLockLost means that nothing was written, because a lock that the writer had is not its
// own any more: another process may have done the same work.
var ErrLockLost = errors.New("the lock was lost, and nothing was written: try again")

// locksOf is the key of the locks that the holder of a context has in one store.
type locksOf struct{ store any }

// WithLock returns the context of the holder of a lock, for the drivers. The store is what a
// driver tells its stores apart by; locks of one context are all held at once.
func WithLock[L any](ctx context.Context, store any, lock L) context.Context {
	return context.WithValue(ctx, locksOf{store}, append(slices.Clip(Locks[L](ctx, store)), lock))
}

// Locks returns the locks that a writer must still have, for the drivers.
func Locks[L any](ctx context.Context, store any) []L {
	locks, _ := ctx.Value(locksOf{store}).([]L)
	return locks
}
