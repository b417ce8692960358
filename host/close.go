package host

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// errClosing is why a host that shuts down gives nobody a worker.
var errClosing = errors.New("the host shuts down")

// closing is what a host answers once it shuts down.
func closing() *failure {
	return failf(CodeUnavailable, "", PhaseHost, "code mode is shutting down.")
}

// Shutdown ends the host like Close, but first lets cells that are running get to
// where they can go on later. A store that outlives the host takes every run as
// soon as its program waits for something, and its Exec or Wait returns a result
// whose status is waiting: another host goes on with it. Where the store does not
// outlive the host, programs may end. What is still running when ctx ends is
// aborted. From the call on, Exec and Wait refuse with runtime_unavailable.
func (h *Host) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if !h.closing {
		h.closing = true
		if !h.volatile() {
			close(h.parking)
		}
	}
	h.mu.Unlock()
	if n := h.callers.wait(ctx); n > 0 {
		h.log.Warn("shutting down with programs running; they are aborted", "programs", n)
	}
	return h.Close()
}

// Close ends the host. Cells that are running end with the code aborted. Calls of
// suspended runs get DrainTimeout to finish and to reach the store; a store that
// outlives the host keeps those runs. Close leaves no process. It may be called
// again, and then waits for the first and returns its error.
func (h *Host) Close() error {
	h.closeOnce.Do(func() { h.closeErr = h.close() })
	return h.closeErr
}

func (h *Host) close() error {
	h.mu.Lock()
	h.closing, h.closed = true, true
	runs := make([]*run, 0, len(h.runs))
	for _, r := range h.runs {
		runs = append(runs, r)
	}
	h.mu.Unlock()
	for _, r := range runs {
		r.cancelIfActive(ErrClosed)
	}
	// Their drivers delete their records, and keep the claims until then.
	if n := within(driverGrace, h.callers.wait); n > 0 {
		h.log.Error("aborted programs do not end", "programs", n)
	}
	if n := within(h.cfg.DrainTimeout, h.calls.waitBusy); n > 0 {
		h.log.Warn("closing with tool calls in flight; suspended runs will not know whether they took effect", "calls", n)
	}
	if n := suspended(runs); n > 0 && !h.volatile() {
		h.log.Info("suspended runs are kept for the next host of this store", "runs", n)
	}
	for _, r := range runs {
		r.stop(stateLeaving, ErrClosed)
	}
	// Cancelled calls end at once, unless a tool does not listen to its context.
	if n := within(h.cfg.DrainTimeout, h.calls.wait); n > 0 {
		h.log.Error("tool calls do not end although they are cancelled", "calls", n)
	}
	for _, r := range runs {
		r.record.dropClaim()
		r.finishMove()
	}
	return h.stop()
}

// suspended counts the runs that wait for a later Wait.
func suspended(runs []*run) (n int) {
	for _, r := range runs {
		if r.now() == stateParked {
			n++
		}
	}
	return n
}

// driverGrace is how long Close waits for the Execs and Waits that it has aborted.
// They end when their workers are killed.
const driverGrace = 10 * time.Second

// within waits for d at most, and returns how many are left.
func within(d time.Duration, wait func(context.Context) int) int {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return wait(ctx)
}

func (h *Host) stop() error {
	var errs []error
	h.end()
	defer h.obs.Close()
	if h.plugins != nil {
		errs = append(errs, h.plugins.Close())
	}
	if h.mcp != nil {
		errs = append(errs, h.mcp.Close())
	}
	if h.pool != nil {
		errs = append(errs, h.pool.Close())
	}
	for _, g := range h.previous {
		errs = append(errs, g.close())
	}
	h.background.Wait()
	if h.tempDir != "" {
		errs = append(errs, os.RemoveAll(h.tempDir))
	}
	return errors.Join(errs...)
}

// enter lets an Exec or Wait in, which leaves callers when it returns.
func (h *Host) enter() *failure {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return closing()
	}
	h.callers.enter()
	return nil
}

func (h *Host) isClosing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closing
}

// volatile reports whether the store ends with the process.
func (h *Host) volatile() bool {
	_, volatile := h.store.(runstore.Volatile)
	return volatile
}

// add makes r known to Wait and Close.
func (h *Host) add(r *run) *failure {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return closing()
	}
	h.runs[r.id] = r
	return nil
}

func (h *Host) remove(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs[r.id] == r {
		delete(h.runs, r.id)
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
