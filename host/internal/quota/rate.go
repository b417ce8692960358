package quota

import (
	"sync"
	"time"
)

// A Rate counts by the minute: what was used is given back when its minute has been over
// for an hour.
const (
	rateWindow = time.Hour
	rateStep   = time.Minute
)

// Rate counts what is used in an hour. What is used is counted when it has been used, so
// that one use may go beyond the limit. It is safe for concurrent use.
type Rate struct {
	meter *Meter
	unit  int64 // of messages

	mu   sync.Mutex
	past []used // the oldest first
}

// used is what was used in one minute.
type used struct {
	from time.Time
	of   map[Owner]int64
}

// NewRate is NewMeter of what may be used in an hour: total times unit. Uses are counted
// in parts of a unit, messages speak of units.
func NewRate(name, what, setting string, total, unit int64, s Shares) *Rate {
	return &Rate{meter: NewMeter(name, what, setting, total*unit, s), unit: unit}
}

// Add counts a use of n parts.
func (r *Rate) Add(o Owner, n int64, now time.Time) {
	if n <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(now)
	if last := len(r.past) - 1; last < 0 || now.Sub(r.past[last].from) >= rateStep {
		r.past = append(r.past, used{now, map[Owner]int64{}})
	}
	r.past[len(r.past)-1].of[o] += n
	r.meter.Force(o, n)
}

// Denied says why an owner may use nothing now; nil if it may.
func (r *Rate) Denied(o Owner, now time.Time) *Denied {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(now)
	r.meter.mu.Lock()
	defer r.meter.mu.Unlock()
	d := r.meter.denied(o, 1)
	if d != nil {
		d.Wanted, d.Used, d.Limit, d.total = 1, d.Used/r.unit, d.Limit/r.unit, d.total/r.unit
	}
	return d
}

// Used returns how many parts were used in the last hour.
func (r *Rate) Used(now time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(now)
	return r.meter.Used()
}

// forget gives back what was used more than an hour ago. The caller holds mu.
func (r *Rate) forget(now time.Time) {
	for len(r.past) > 0 && now.Sub(r.past[0].from) >= rateWindow+rateStep {
		for o, n := range r.past[0].of {
			r.meter.Give(o, n)
		}
		r.past = r.past[1:]
	}
}
