package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host"
)

// deliveries bring the results of waits to clients that may go away meanwhile. A
// run outlives the connection its result was to travel on, so a wait goes on
// without its client, and the next wait of the same session gets the result. The
// zero value with keep set is ready for use.
type deliveries struct {
	keep time.Duration
	log  *slog.Logger

	mu   sync.Mutex
	all  map[waiter]*delivery
	kept int // deliveries without a client
}

// waiter is a session that waits for a run. Sessions that wait for one another's
// runs do not meet here: the host refuses them.
type waiter struct {
	session Session
	runID   string
}

// delivery is one Wait. It has one client at most.
type delivery struct {
	waiter
	result *host.Delivery // set once done is closed
	done   chan struct{}  // closed when Wait has returned
	alone  bool           // no client waits for it
	since  time.Time      // when it was left alone
	expiry *time.Timer    // while alone
}

// deliver waits for a run on behalf of a client, which is gone when ctx ends, and
// hands it the result with write. It reports false when another client of the
// session is waiting for the run.
func (d *deliveries) deliver(ctx context.Context, who waiter, wait func(context.Context) *host.Delivery, write func(*host.Result) bool) bool {
	one := d.claim(who)
	if one == nil {
		return false
	}
	if one.done == nil {
		one.done = make(chan struct{})
		go func() {
			one.result = wait(context.WithoutCancel(ctx))
			close(one.done)
			d.arrive(one)
		}()
	}
	select {
	case <-one.done:
		if ctx.Err() == nil && write(one.result.Result) {
			d.end(one)
			return true
		}
	case <-ctx.Done():
	}
	d.leave(one)
	return true
}

// claim returns the delivery that no client waits for, or a new one whose done is
// nil, or nil when there is one with a client.
func (d *deliveries) claim(who waiter) *delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.all[who]
	switch {
	case one == nil:
		one = &delivery{waiter: who}
		if d.all == nil {
			d.all = make(map[waiter]*delivery)
		}
		d.all[who] = one
		return one
	case !one.alone:
		return nil
	}
	one.alone = false
	one.expiry.Stop()
	d.kept--
	return one
}

// arrive gives the result of a run that has ended back to the host, which has it in
// its store, when the client has gone meanwhile.
func (d *deliveries) arrive(one *delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[one.waiter] != one { // dropped before it came: no client will ask here
		one.result.Release()
		return
	}
	d.giveBack(one)
}

// giveBack leaves a result to the host if no client waits for it and the host keeps
// it. The caller holds mu.
func (d *deliveries) giveBack(one *delivery) {
	if one.alone && isClosed(one.done) && one.result.Release() {
		d.drop(one)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// end forgets a delivery whose client has the result.
func (d *deliveries) end(one *delivery) {
	one.result.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, one.waiter)
}

// leave keeps a delivery whose client has gone, for a while.
func (d *deliveries) leave(one *delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept >= keptResults {
		d.dropOldest()
	}
	one.alone, one.since = true, time.Now()
	d.kept++
	one.expiry = time.AfterFunc(d.keep, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if one.alone && d.all[one.waiter] == one {
			d.drop(one)
		}
	})
	d.log.Debug("the client of a wait went away: its result is kept", "run", one.runID)
	d.giveBack(one)
}

// dropOldest makes room. The caller holds mu.
func (d *deliveries) dropOldest() {
	var oldest *delivery
	for _, one := range d.all {
		if one.alone && (oldest == nil || one.since.Before(oldest.since)) {
			oldest = one
		}
	}
	d.log.Warn("the result of a wait is dropped: too many clients went away without theirs", "run", oldest.runID)
	d.drop(oldest)
}

// drop forgets a delivery that is alone. The caller holds mu.
func (d *deliveries) drop(one *delivery) {
	one.alone = false
	one.expiry.Stop()
	d.kept--
	delete(d.all, one.waiter)
}

// close forgets everything that is kept.
func (d *deliveries) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		if one.alone {
			d.drop(one)
		}
	}
}
