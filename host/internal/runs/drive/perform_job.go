package drive

import (
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// contain is deferred by the goroutine that performs a call: a panic ends the call's run.
func (j callJob) contain() {
	p := recover()
	if p == nil {
		return
	}
	r := j.run
	r.env.ReportPanic(run.DuringCall, p, "run", r.ID, "call", j.call.PublicID())
	defer func() {
		if p := recover(); p != nil {
			r.env.ReportPanic(run.DuringCall, p, "run", r.ID, "call", j.call.PublicID())
			r.letGo(run.Panicked())
		}
	}()
	if f := r.Abort(r.Background(), run.Panicked()); f != nil {
		r.Cancel(run.Panicked())
	}
}

// perform performs the call. It returns those to perform next on this goroutine.
func (j callJob) perform() (next []callJob) {
	r := j.run
	if r.unstarted.Add(-1) == 0 && r.arrived.Load() {
		r.Notify() // this call may take long, and others have left their answers to it
	}
	if next = j.passStages(); len(next) > 0 {
		r.arrived.Store(true)
		return next
	}
	return r.settled()
}

// passStages has the call pass its stages, with a slot of the run taken, and returns the calls
// that have got slots.
func (j callJob) passStages() []callJob {
	defer j.run.env.Performing.Leave()
	defer j.contain()
	return j.run.jobs(j.run.Perform(j.call, j.lost))
}

// settled is called by the goroutine of a call that has settled. It returns the calls that
// this goroutine has to perform next.
func (h *handover) settled() (next []callJob) {
	h.arrived.Store(true)
	for len(next) == 0 && h.arrived.Load() && h.unstarted.Load() == 0 {
		d := h.waiting.Load()
		if d == nil || !d.holder.TryLock() {
			return nil
		}
		if h.waiting.Load() == d {
			next = d.driveOn()
		}
		d.holder.Unlock()
	}
	return next
}

// driveOn runs one turn of the guest on the goroutine of a call.
func (d *driver) driveOn() []callJob {
	r := d.run
	if !d.isPlain(d.look()) {
		r.Notify()
		return nil
	}
	d.onCall, d.next = true, nil
	d.result = d.turnHere()
	d.onCall = false
	d.turns++
	switch {
	case d.result != nil:
		r.waiting.CompareAndSwap(d, nil)
		d.over <- struct{}{}
	case !d.timerDue.IsZero():
		r.Notify() // to set the timer
	}
	return d.next
}

// isPlain reports whether all there is to do is to deliver answers to a guest that is in
// its worker. The goroutine of the Exec or Wait does the rest: it has the timers.
func (d *driver) isPlain(s calls.Status) bool {
	e := d.run.env
	return s.Deliverable && s.TellBy.IsZero() && d.worker != nil && d.held == nil && d.timerDue.IsZero() &&
		d.run.Context.Err() == nil && d.ctx.Err() == nil && !calls.IsClosed(e.Parking) && !calls.IsClosed(d.leaves) && e.Clock.Until(d.deadline) > 0
}

// turnHere runs a turn and returns its result. It contains a panic.
func (d *driver) turnHere() (res *codemode.Result) {
	defer func() {
		if p := recover(); p != nil {
			res = d.panicked(p)
		}
	}()
	return d.step(d.turn())
}
