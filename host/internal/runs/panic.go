package runs

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
)

// A panic on behalf of one run, be it a mistake of ours, of the embedder's store, or
// what a worker that was taken over has provoked, ends that run alone. It is
// recovered where the goroutine that serves the run starts: see contain.

// ReportPanic is Host.ReportPanic.
func (e *Engine) ReportPanic(during string, recovered any, args ...any) {
	e.Observer.Metrics.Panicked(during)
	e.Logger.Error("a panic was recovered from", append([]any{"during", during, "panic", fmt.Sprint(recovered), "at", panicPlace(), "stack", string(debug.Stack())}, args...)...)
}

// panicPlace is the function, file and line that panicked, for what a deferred function
// calls that has recovered: the first frame above the panic that is not the runtime's.
func panicPlace() string {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	for panicking := false; ; {
		f, more := frames.Next()
		own := strings.HasPrefix(f.Function, "runtime.")
		if panicking && !own {
			return fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line)
		}
		panicking = panicking || own
		if !more {
			return ""
		}
	}
}

// What a panic may happen during.
const (
	duringRun        = "run"
	duringCall       = "call"
	duringTool       = "tool" // of the embedder: the call alone rejects
	duringBackground = "background"
	DuringObserver   = "observer"
)

func panicked() *codemode.Error {
	return codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "the host failed while it served this run, and has ended it. Its log has the cause.")
}

// contain is deferred by the goroutine that drives a run: a panic becomes the run's failure.
func (r *run) contain(res **codemode.Result) {
	if p := recover(); p != nil {
		r.engine.ReportPanic(duringRun, p, "run", r.id)
		*res = r.endAfterPanic()
	}
}

// endAfterPanic ends the run. If that panics too, the run is dropped as it is, and a
// stored record of it is left to its time limit.
func (r *run) endAfterPanic() (res *codemode.Result) {
	f := panicked()
	defer func() {
		if p := recover(); p != nil {
			r.engine.ReportPanic(duringRun, p, "run", r.id)
			r.letGo(f)
			res = r.driver.failure(f)
		}
	}()
	return r.driver.failed(f)
}

// containReopen is deferred by a function that makes a suspended run active: a panic of
// the store ends the run, which no Wait could take up otherwise.
func (r *run) containReopen(f **codemode.Error) {
	if p := recover(); p != nil {
		r.engine.ReportPanic(duringRun, p, "run", r.id)
		if r.driver != nil {
			r.driver.delivery = nil // of an earlier Wait: its caller is gone
		}
		r.endAfterPanic()
		*f = panicked()
	}
}

// containExpiry is deferred by the timer of a parked run: after a panic of the store
// this process lets go of the run.
func (r *run) containExpiry() {
	if p := recover(); p != nil {
		r.engine.ReportPanic(duringBackground, p, "run", r.id)
		r.letGo(panicked())
	}
}

// contain is deferred by the function that leases a worker. A worker whose report may have
// caused the panic serves no other run.
func (d *driver) contain(res **codemode.Result) {
	if p := recover(); p != nil {
		*res = d.panicked(p)
	}
	d.release()
}

// panicked ends a run while whose guest was driven something has panicked.
func (d *driver) panicked(p any) *codemode.Result {
	d.run.engine.ReportPanic(duringRun, p, "run", d.run.id)
	if d.worker != nil {
		d.worker.Kill()
	}
	return d.run.endAfterPanic()
}

// containCall is deferred by the goroutine that performs a call: a panic ends the call's run.
func (r *run) containCall(c *calls.Entry) {
	p := recover()
	if p == nil {
		return
	}
	r.engine.ReportPanic(duringCall, p, "run", r.id, "call", c.PublicID())
	defer func() {
		if p := recover(); p != nil {
			r.engine.ReportPanic(duringCall, p, "run", r.id, "call", c.PublicID())
			r.letGo(panicked())
		}
	}()
	if f := r.abort(r.background(), panicked()); f != nil {
		r.cancel(panicked())
	}
}

// containRefusal is deferred by calls that may drive a run and have no run yet.
func (e *Engine) containRefusal(res **codemode.Result) {
	if p := recover(); p != nil {
		e.ReportPanic(duringRun, p)
		*res = panicked().Result()
	}
}

// guard runs a step of a goroutine that serves no run.
func (e *Engine) guard(step func()) {
	defer func() {
		if p := recover(); p != nil {
			e.ReportPanic(duringBackground, p)
		}
	}()
	step()
}

// untilDone tries a step again and again, until it is done or the host ends. Then it is
// tried for the last time, under a context that has ended.
func (e *Engine) untilDone(step journal.Step) {
	e.background.Go(func() {
		for pause := e.Times.FirstRetry; ; pause = min(2*pause, e.Times.LongestRetry) {
			select {
			case <-time.After(pause):
			case <-e.life.Done():
			}
			done := true // a step that panics is not tried again
			e.guard(func() { done = step(e.life) })
			if done || e.life.Err() != nil {
				return
			}
		}
	})
}
