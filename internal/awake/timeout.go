package awake

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// WithTimeout is context.WithTimeout by the time in which this process runs.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return WithTimeoutCause(ctx, d, context.DeadlineExceeded)
}

// WithTimeoutCause is context.WithTimeoutCause by the time in which this process runs. The
// Deadline of the context is the deadline of a process that never stands still. The
// context may learn a moment later than others that ctx has ended.
func WithTimeoutCause(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	now := time.Now()
	c := &timeout{due: now.Add(d), cause: cause}
	c.wait = Until(now, c.due)
	c.Context, c.end = context.WithCancelCause(ctx)
	out, cancel := context.WithCancel(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(time.Until(c.wait.Look()), c.look)
	return out, func() {
		c.timer.Stop()
		cancel()
		c.end(context.Canceled)
	}
}

// timeout is what the context that callers get is made of: one of the standard library takes
// its Err from the one above. It ends with its parent, or when its wait is over.
type timeout struct {
	context.Context
	end   context.CancelCauseFunc
	due   time.Time
	cause error
	over  atomic.Bool

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
		c.over.Store(true)
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

// never is a Done that no other context has. A context below takes the Err of the
// context with the Done that it sees.
var never = make(chan struct{})

func (c *timeout) Done() <-chan struct{} {
	if c.Context.Err() != nil {
		return c.Context.Done()
	}
	return never
}

func (c *timeout) Err() error {
	err := c.Context.Err()
	if err != nil && c.over.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// AfterFunc tells the context below that this one has ended.
func (c *timeout) AfterFunc(f func()) func() bool { return context.AfterFunc(c.Context, f) }
