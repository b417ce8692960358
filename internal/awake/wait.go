package awake

import "time"

const (
	// slice is the time between two looks at a wait. A look that is later than that says
	// that this process stood still.
	slice = 250 * time.Millisecond
	// maxLate ends a wait when each look at it is late: otherwise another process
	// that takes all processors could keep it up for ever.
	maxLate = 8 * slice
)

// Wait says when a wait is over. Its owner looks at it when Look says so. The zero value
// is no wait.
type Wait struct {
	due  time.Time // later than it was by what this process stood still
	look time.Time
}

// Until returns a wait that starts now and is over at due.
func Until(now, due time.Time) Wait {
	look := earlier(due, now.Add(slice))
	if look.Before(now) { // it is over; this process has not stood still
		look = now
	}
	return Wait{due: due, look: look}
}

// IsZero reports whether it is no wait.
func (w *Wait) IsZero() bool { return w.due.IsZero() }

// Look is when to call Over.
func (w *Wait) Look() time.Time { return w.look }

// Over reports whether the wait is over now. If it is not, Look has changed.
func (w *Wait) Over(now time.Time) bool {
	late := now.Sub(w.look)
	if late <= slice {
		w.look = earlier(w.due, now.Add(slice))
		return !now.Before(w.due)
	}
	w.due = w.due.Add(late)
	w.look = now.Add(slice) // what has come by then is taken first
	return now.Sub(w.due) >= maxLate
}

// Left is what is left of the wait.
func (w *Wait) Left(now time.Time) time.Duration { return max(0, w.due.Sub(now)) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
