package run

import (
	"context"
	"time"
)

// CallContext is the context under which a run makes a call. It ends with the run, which
// may outlive the request that made the call; it has the values of that request.
type callContext struct {
	context.Context // the run's
	request         context.Context
}

// Value returns a value of the request. The value of the run counts first: by it the
// packages of the standard library find out what the context ends with.
func (c callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.request.Value(key)
}

// DrivenBy notes the context of the Exec or Wait that drives the run from now on.
func (r *Run) DrivenBy(ctx context.Context) { r.request.Store(&ctx) }

// CallContext returns the context for a call that starts now. The request is the newest one,
// which may have ended: the run has been suspended since, and continues.
func (r *Run) CallContext() context.Context {
	if request := r.request.Load(); request != nil {
		return callContext{r.Context, *request}
	}
	return r.Context
}

// RequestDeadline is the deadline of the request that drives the run; zero without one.
func (r *Run) RequestDeadline() time.Time {
	request := r.request.Load()
	if request == nil || (*request).Err() != nil {
		return time.Time{}
	}
	deadline, _ := (*request).Deadline()
	return deadline
}
