package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/policy"
)

// ApprovalWatcher waits for decisions about approvals, for all calls of a host. While no call
// waits it has no goroutine and watches nothing.
type approvalWatcher struct {
	Approvals policy.Approvals
	Log       *slog.Logger
	Guard     func(step func()) // contains panics
	Retry     time.Duration     // Times.ApprovalRetry

	mu      sync.Mutex
	waiting map[string]approvalWaiter // by approval id
	stop    context.CancelFunc        // ends the watch; nil while there is no watch
	more    chan struct{}             // capacity 1: there is a new approvalWaiter
}

// approvalWaiter is a call that waits: where the resolved approval is put, or nil if it
// is lost. It has the capacity 1.
type approvalWaiter chan *policy.Approval

// wait returns the approval once it is resolved, or when its time is over, which
// resolves it. An approval that the store has lost or cannot verify is
// errLostApproval; otherwise the error is the cause of ctx.
func (d *approvalWatcher) wait(ctx context.Context, id string) (*policy.Approval, error) {
	w := make(approvalWaiter, 1)
	d.add(id, w)
	defer d.remove(id)
	select {
	case a := <-w:
		if a == nil {
			return nil, errLostApproval
		}
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// errLostApproval means that the decision cannot be known any more.
var errLostApproval = errors.New("its approval is gone from the store, or damaged")

// add puts a waiter on the list. The one goroutine that watches for all of them
// starts with the first.
func (d *approvalWatcher) add(id string, w approvalWaiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = make(map[string]approvalWaiter)
	}
	d.waiting[id] = w
	if d.stop == nil {
		var ctx context.Context
		ctx, d.stop = context.WithCancel(context.Background())
		d.more = make(chan struct{}, 1)
		go d.watch(ctx, d.Approvals.Watch(ctx), d.more)
	}
	select {
	case d.more <- struct{}{}:
	default:
	}
}

// remove takes a waiter off the list, and ends the watch with the last one.
func (d *approvalWatcher) remove(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, id)
	if len(d.waiting) == 0 {
		d.stop()
		d.stop = nil
	}
}

// watch looks at what is waited for whenever something may have changed.
func (d *approvalWatcher) watch(ctx context.Context, changed, more <-chan struct{}) {
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-more:
		case <-due.C:
		}
		next := d.Retry
		d.Guard(func() { next = d.checkAll(ctx) })
		due.Reset(next)
	}
}

// checkAll answers the waiters of resolved approvals, resolves the approvals that are out of
// time, and returns when the time of the next one will be over.
func (d *approvalWatcher) checkAll(ctx context.Context) time.Duration {
	d.mu.Lock()
	list := maps.Clone(d.waiting)
	d.mu.Unlock()
	next := policy.MaxApprovalTimeout
	for id, w := range list {
		a, err := d.resolved(ctx, id)
		switch {
		case ctx.Err() != nil:
			return next
		case errors.Is(err, policy.ErrNotFound), errors.Is(err, policy.ErrCorrupt):
			d.Log.Error("an approval cannot be read, so its call is denied", "approval", id, "error", err)
			w.deliver(nil)
		case err != nil:
			d.Log.Error("an approval cannot be read now", "approval", id, "error", err)
			next = min(next, d.Retry)
		case a.State == policy.StatePending:
			left := time.Until(a.Expires)
			if left <= 0 { // by the clock of the store its time is not over
				left = d.Retry
			}
			next = min(next, left)
		default:
			w.deliver(a)
		}
	}
	return next
}

// resolved returns the approval, which is resolved if its time is over.
func (d *approvalWatcher) resolved(ctx context.Context, id string) (*policy.Approval, error) {
	a, err := d.Approvals.Get(ctx, id)
	if now := time.Now(); err == nil && a.State == policy.StatePending && !now.Before(a.Expires) {
		return d.Approvals.Resolve(ctx, id, policy.Resolution{State: policy.StateExpired, At: now})
	}
	return a, err
}

func (w approvalWaiter) deliver(a *policy.Approval) {
	select {
	case w <- a:
	default: // it has been told
	}
}
