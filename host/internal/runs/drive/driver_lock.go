package drive

import (
	"sync"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// driverLock is held by the goroutine that drives a run. That of the Exec or Wait
// releases it while it waits for calls. Then the goroutine of a call that has settled may
// acquire it: it delivers the answer, runs the guest's turn, releases the lock, and performs
// calls that the guest has made in that turn. So a program that makes one call after the
// other stays on one goroutine, and the one of the Exec or Wait, with its timers, wakes up
// only for what is no plain answer.
//
// Every answer is noticed: a goroutine that cannot acquire the lock has set run.arrived
// before it tried, and the one that releases the lock looks at that afterwards. Where calls
// were made together and have not all started, the last one to start looks.
type driverLock struct {
	holder sync.Mutex    // held by the goroutine that drives
	over   chan struct{} // capacity 1: the goroutine of a call came to a result

	// These fields belong to the holder.
	turns  int              // of the guest that goroutines of calls have run
	result *codemode.Result // what one of them came to
	onCall bool             // the holder is the goroutine of a call
	next   []callJob        // what it performs next
}

// acquire locks a new lock for this goroutine, which keeps it when the run ends.
func (l *driverLock) acquire() {
	l.over = make(chan struct{}, 1)
	l.holder.Lock()
}

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

// settled is called by the goroutine of a call that has settled. It returns the calls that
// this goroutine has to perform next.
func (r *Run) settled() (next []callJob) {
	r.arrived.Store(true)
	for len(next) == 0 && r.arrived.Load() && r.unstarted.Load() == 0 {
		d := r.waiting.Load()
		if d == nil || !d.holder.TryLock() {
			return nil
		}
		if r.waiting.Load() == d {
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

// turnHere is a turn and what it comes to, contained.
func (d *driver) turnHere() (res *codemode.Result) {
	defer func() {
		if p := recover(); p != nil {
			res = d.panicked(p)
		}
	}()
	return d.step(d.turn())
}

// launch performs calls that have a slot. The goroutine of a call keeps the first ones for
// itself.
func (d *driver) launch(started []*calls.Entry, lost error) {
	if d.onCall && d.next == nil {
		d.next = d.run.jobs(started, lost)
	} else {
		d.run.launch(started, lost)
	}
}
