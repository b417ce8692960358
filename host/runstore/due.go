package runstore

import "time"

// DueAt says from when on the run can go on without a caller, if it is not claimed: as soon as
// its timer is over; at once, which is the zero time, if its guest has not got an answer that
// is there, or a call was in flight, whose host is gone. Ok is false for a run that only a
// caller, a person or the answer to a call can have go on.
//
// An author of a driver keeps it next to the record, as an index of runs that may be due.
func (r *Record) DueAt() (at time.Time, ok bool) {
	if r.Live { // there is no image to go on with
		return time.Time{}, false
	}
	for _, c := range r.Calls {
		if c.State == CallSettled || c.State == CallInFlight {
			return time.Time{}, true
		}
	}
	return r.TimerDue, !r.TimerDue.IsZero()
}
