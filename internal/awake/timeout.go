package awake

import (
	"context"
	"sync"
	"time"
)

// WithTimeout is context.WithTimeout by the time in which this process runs.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return WithTimeoutCause(ctx, d, context.DeadlineExceeded)
}

// WithTimeoutCause is context.WithTimeoutCause by the time in which this process runs. The
// Deadline of the context is that of a process that never stands still.
func WithTimeoutCause(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	now := time.Now()
	c := &timeout{due: now.Add(d), cause: cause, done: make(chan struct{})}
	c.wait = Until(now, c.due)
	c.Context, c.end = context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(c.Context, func() { close(c.done) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(time.Until(c.wait.Look()), c.look)
	return c, func() {
		c.timer.Stop()
		c.end(context.Canceled)
		if unwatch() {
			close(c.done)
		}
	}
}

// timeout is a context that ends with its parent, or when its wait is over. It has a Done
// of its own, because contexts made of it take the Err of the one whose Done they see.
type timeout struct {
	context.Context
	end   context.CancelCauseFunc
	due   time.Time
	cause error
	done  chan struct{}

	mu    sync.Mutex
	wait  Wait
	timer *time.Timer
}

// look looks at the wait until it is over, or the context has ended.
func (c *timeout) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.Context.Err() != nil:
	case c.wait.Over(time.Now()):
		c.end(c.cause)
	default:
		c.timer.Reset(time.Until(c.wait.Look()))
	}
}

func (c *timeout) Deadline() (time.Time, bool) {
	if of, ok := c.Context.Deadline(); ok && of.Before(c.due) {
		return of, true
	}
	return c.due, true
}

func (c *timeout) Done() <-chan struct{} { return c.done }

func (c *timeout) Err() error {
	err := c.Context.Err()
	if err != nil && context.Cause(c.Context) == c.cause {
		return context.DeadlineExceeded
	}
	return err
}

// AfterFunc spares contexts made of this one a goroutine each.
func (c *timeout) AfterFunc(f func()) func() bool { return context.AfterFunc(c.Context, f) }
