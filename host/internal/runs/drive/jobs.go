package drive

import (
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
)

// launch performs calls that have a slot. The goroutine of a call keeps the first ones for
// itself.
func (d *driver) launch(started []*calls.Entry, lost error) {
	if d.onCall && d.next == nil {
		d.next = d.run.jobs(started, lost)
	} else {
		d.run.launch(started, lost)
	}
}

// launch performs calls that have a slot. If the store could not be told of them, the
// error says why.
func (r *Run) launch(started []*calls.Entry, lost error) {
	r.env.callWorkers.perform(r.jobs(started, lost))
}

// jobs are calls that are about to be performed. If it is not known whether the store has
// them, they are neither made nor rejected: the run is given up, also where no call has
// a slot yet.
func (r *Run) jobs(started []*calls.Entry, lost error) []callJob {
	if fault.MayBeWritten(lost) {
		r.Record.GiveUp(lost)
		r.env.Performing.LeaveN(len(started))
		return nil
	}
	if len(started) == 0 {
		return nil
	}
	r.unstarted.Add(int32(len(started)))
	out := make([]callJob, len(started))
	for i, c := range started {
		out[i] = callJob{r, c, lost}
	}
	return out
}
