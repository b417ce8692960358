package drive

import (
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// contain is deferred by the goroutine that drives a run: a panic becomes the run's failure.
func (r *Run) contain(res **codemode.Result) {
	if p := recover(); p != nil {
		*res = r.driver.panicked(p)
	}
}

// endAfterPanic ends the run. If that panics too, the run is dropped as it is, and a
// stored record of it is left to its time limit.
func (r *Run) endAfterPanic() (res *codemode.Result) {
	f := run.Panicked()
	defer func() {
		if p := recover(); p != nil {
			r.env.ReportPanic(run.DuringRun, p, "run", r.ID)
			r.letGo(f)
			res = r.driver.failure(f)
		}
	}()
	return r.driver.failed(f)
}

// ContainReopen is deferred by a function that makes a suspended run active: a panic of
// the store ends the run, which no Wait could take up otherwise.
func (r *Run) ContainReopen(f **codemode.Error) {
	if p := recover(); p != nil {
		r.env.ReportPanic(run.DuringRun, p, "run", r.ID)
		if r.driver != nil {
			r.driver.delivery = nil // of an earlier Wait: its caller is gone
		}
		r.endAfterPanic()
		*f = run.Panicked()
	}
}

// containExpiry is deferred by the timer of a parked run: after a panic of the store this
// process releases the run.
func (r *Run) containExpiry() {
	if p := recover(); p != nil {
		r.env.ReportPanic(run.DuringBackground, p, "run", r.ID)
		r.letGo(run.Panicked())
	}
}

// contain is deferred by the function that leases a worker. A worker that may have caused
// the panic by its report serves no other run.
func (d *driver) contain(res **codemode.Result) {
	if p := recover(); p != nil {
		*res = d.panicked(p)
	}
	d.release()
}

// panicked ends a run after something has panicked while its guest was driven.
func (d *driver) panicked(p any) *codemode.Result {
	d.run.env.ReportPanic(run.DuringRun, p, "run", d.run.ID)
	if d.worker != nil {
		d.worker.Kill()
	}
	return d.run.endAfterPanic()
}
