package drive

import (
	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// look returns how the calls are now. While calls that were made together have not all
// started, their answers are not deliverable yet.
func (d *driver) look() calls.Status {
	d.run.arrived.Store(false)
	s := d.run.Calls.Status()
	if s.Deliverable && d.run.unstarted.Load() > 0 {
		s.Deliverable = false
		d.run.arrived.Store(true)
	}
	return s
}

// releaseLock lets goroutines of calls drive the run.
func (d *driver) releaseLock() {
	d.run.waiting.Store(d)
	d.holder.Unlock()
	if d.run.arrived.Load() && d.run.unstarted.Load() == 0 {
		d.run.Notify()
	}
}

// reacquireLock ends that, after the turn that the goroutine of a call may be running.
func (d *driver) reacquireLock() {
	d.holder.Lock()
	d.run.waiting.CompareAndSwap(d, nil)
}
