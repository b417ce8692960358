package runstore

import (
	"slices"
	"time"
)

// DueAt returns the time from which the run can continue without a caller, if it is not
// claimed: as soon as its timer is over; at once, which is the zero time, if its guest has not
// got an answer that is there, or a call was in flight on a host that is gone. Ok is false for
// a run that only a caller, a person or the answer to a call can continue.
//
// An author of a driver keeps it next to the record, as an index of runs that may be due.
func (r *Record) DueAt() (at time.Time, ok bool) {
	if r.Live { // there is no image to continue with
		return time.Time{}, false
	}
	for _, c := range r.Calls {
		if c.State == CallSettled || c.State == CallInFlight {
			return time.Time{}, true
		}
	}
	return r.TimerDue, !r.TimerDue.IsZero()
}

// GoesOnAlone reports whether the run can continue, or be ended, without a caller once some
// host has it, or a person has decided, apart from its timer. Who claims such a run and does
// nothing for it wakes it before the release: see Scheduler.
func (r *Record) GoesOnAlone() bool {
	at, due := r.DueAt()
	return r.Live || due && at.IsZero() || slices.ContainsFunc(r.Calls, func(c Call) bool { return c.State == CallApproval })
}
