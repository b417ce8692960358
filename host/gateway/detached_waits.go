package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host"
)

// maxDetached bounds the waits that continue without a client.
const maxDetached = 64

// detachedWaits bring the results of waits to clients that may go away during the wait. A run
// outlives the connection of its client. So a wait continues without its client, and the next
// wait of the same session for the same run gets the result. The zero value with keep and log
// set is ready for use.
type detachedWaits struct {
	keep time.Duration // how long a wait continues, or its result is kept, without a client
	log  *slog.Logger

	mu       sync.Mutex
	all      map[waitKey]*runWait
	detached int // waits without a client
}

// waitKey is a session that waits for a run. Another session's wait for the same
// run has another key, and the host refuses it.
type waitKey struct {
	session Session
	runID   string
}

// runWait is one Wait of the host. It has one client at most.
type runWait struct {
	key      waitKey
	result   *host.Delivery // set once done is closed
	done     chan struct{}  // closed when Wait has returned
	leave    func(error)    // has Wait return, and leave the run suspended; says why
	detached bool           // has no client
	since    time.Time      // when it lost its client
	expiry   *time.Timer    // while detached
}

// do waits for a run on behalf of a client, who is gone when ctx ends, and hands it
// the result with write. A wait that another client has left, which may have wanted to
// wait for longer, ends after the time limit of this one. It returns false when another
// client of the session is waiting for the run.
func (d *detachedWaits) do(ctx context.Context, key waitKey, limit time.Duration, wait func(context.Context) *host.Delivery, write func(*host.Result) bool) bool {
	w, isNew := d.attach(key)
	if w == nil {
		return false
	}
	if isNew {
		d.start(ctx, w, wait)
	} else {
		enough := time.AfterFunc(limit, func() { w.leave(context.DeadlineExceeded) }) // this client takes the result
		defer enough.Stop()
	}
	select {
	case <-w.done:
		if ctx.Err() == nil && write(w.result.Result) {
			d.delivered(w)
			return true
		}
	case <-ctx.Done():
	}
	d.detach(w)
	return true
}

// start has the host wait.
func (d *detachedWaits) start(ctx context.Context, w *runWait, wait func(context.Context) *host.Delivery) {
	ctx, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	w.leave = leave
	go func() {
		defer leave(nil)
		w.result = wait(ctx)
		close(w.done)
		d.finished(w)
	}()
}

// attach gives the key's wait to a client: the detached one, or else a new one, which is
// to be started. It returns nil when the wait has a client.
func (d *detachedWaits) attach(key waitKey) (w *runWait, isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w = d.all[key]
	switch {
	case w == nil:
		w = &runWait{key: key, done: make(chan struct{})}
		if d.all == nil {
			d.all = make(map[waitKey]*runWait)
		}
		d.all[key] = w
		return w, true
	case !w.detached:
		return nil, false
	}
	w.detached = false
	w.expiry.Stop()
	d.detached--
	return w, false
}

// finished is called when Wait has returned. If the client has gone by then, the result goes
// back to the host.
func (d *detachedWaits) finished(w *runWait) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[w.key] != w { // dropped before: no client will ask here
		w.result.Release()
		return
	}
	d.releaseToHost(w)
}

// releaseToHost forgets a detached wait if the host keeps its result in the store. The caller
// holds mu.
func (d *detachedWaits) releaseToHost(w *runWait) {
	if w.detached && isClosed(w.done) && w.result.Release() {
		d.drop(w)
	}
}

// delivered forgets a wait once its client has the result.
func (d *detachedWaits) delivered(w *runWait) {
	w.result.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, w.key)
}

// detach keeps a wait after its client has gone, until the wait expires.
func (d *detachedWaits) detach(w *runWait) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.detached >= maxDetached {
		d.dropOldest()
	}
	w.detached, w.since = true, time.Now()
	d.detached++
	w.expiry = time.AfterFunc(d.keep, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if w.detached && d.all[w.key] == w {
			d.drop(w)
		}
	})
	d.log.Debug("the client of a wait went away: its result is kept", "run", w.key.runID)
	d.releaseToHost(w)
}

// dropOldest makes room for another detached wait. The caller holds mu.
func (d *detachedWaits) dropOldest() {
	var oldest *runWait
	for _, w := range d.all {
		if w.detached && (oldest == nil || w.since.Before(oldest.since)) {
			oldest = w
		}
	}
	d.log.Warn("the result of a wait is dropped: too many clients went away without theirs", "run", oldest.key.runID)
	d.drop(oldest)
}

// drop forgets a detached wait, which ends: no client would get its result, and the next
// wait for the run would find it busy. The caller holds mu.
func (d *detachedWaits) drop(w *runWait) {
	w.leave(nil)
	w.detached = false
	w.expiry.Stop()
	d.detached--
	delete(d.all, w.key)
}

// close forgets all detached waits.
func (d *detachedWaits) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.all {
		if w.detached {
			d.drop(w)
		}
	}
}

// isClosed reports whether a channel that only ever closes is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
