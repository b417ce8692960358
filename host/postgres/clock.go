package postgres

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// sameClock is how far the clocks of host and database may be apart and count as one.
// Answers take time, so that a difference is never known exactly.
const sameClock = time.Second

// databaseClock tells the times of this host from times of the database, which decides when a
// run is due or expires. Its measure of a difference is the monotonic clock: the clock of the
// machine may have been set in the meantime.
type databaseClock struct {
	at    atomic.Pointer[moment]
	tried atomic.Pointer[time.Time] // when the clocks were last compared in vain
}

// moment is one instant by all clocks.
type moment struct {
	here  time.Time     // by the monotonic clock
	wall  time.Time     // by the clock of the machine
	ahead time.Duration // how far the database is ahead of the clock of the machine
}

// compare takes note of the time that the database told between two moments of this host.
// An answer that took long says too little.
func (c *databaseClock) compare(asked, answered, database time.Time) {
	took := answered.Sub(asked)
	if took > sameClock {
		c.tried.Store(&answered)
		return
	}
	m := moment{here: asked, wall: asked.Round(0), ahead: database.Sub(asked.Add(took / 2).Round(0))}
	if m.ahead.Abs() < sameClock {
		m.ahead = 0
	}
	c.at.Store(&m)
}

// doubtful reports whether the clock of this machine was set since the clocks were compared,
// or the machine has slept: its monotonic clock may have stood still. Which of the two it was,
// the database knows.
func (c *databaseClock) doubtful() bool {
	m, now := c.at.Load(), time.Now()
	if m == nil {
		return false
	}
	if tried := c.tried.Load(); tried != nil && now.Sub(*tried) < sameClock {
		return false // the database is slow: each write need not wait for another answer
	}
	return (now.Round(0).Sub(m.wall) - now.Sub(m.here)).Abs() >= sameClock
}

// there is a time of this host by the clock of the database.
func (c *databaseClock) there(t time.Time) time.Time {
	m := c.at.Load()
	if m == nil || t.IsZero() {
		return t
	}
	there := m.wall.Add(t.Sub(m.here) + m.ahead)
	if there.Sub(t.Round(0)).Abs() < sameClock {
		return t
	}
	return there.UTC()
}

// keptUntil is the time of the database before which a run with these calls does not expire.
func (c *databaseClock) keptUntil(calls []runstore.Call) *time.Time {
	last := slices.MaxFunc(calls, func(a, b runstore.Call) int { return a.KeepUntil.Compare(b.KeepUntil) }).KeepUntil
	if last.IsZero() {
		return nil
	}
	last = c.there(last)
	return &last
}

// here is a time of the database by the clock of this host. It counts by the monotonic clock,
// which UTC would leave out: the other one may be set.
func (c *databaseClock) here(t time.Time) time.Time {
	m := c.at.Load()
	if m == nil || t.IsZero() {
		return t
	}
	return m.here.Add(t.Sub(m.wall) - m.ahead)
}

// calls are calls with the times of the database, for their rows.
func (c *databaseClock) calls(here []runstore.Call) []runstore.Call {
	there := slices.Clone(here)
	for i := range there {
		there[i].KeepUntil = c.there(there[i].KeepUntil)
	}
	return there
}

// record is a record with the times of the database, for its row.
func (c *databaseClock) record(r *runstore.Record) *runstore.Record {
	there := *r
	there.Expires, there.TimerDue = c.there(r.Expires), c.there(r.TimerDue)
	there.Calls = c.calls(r.Calls)
	return &there
}

// recordHere gives a record of the database the times of this host.
func (c *databaseClock) recordHere(r *runstore.Record) {
	r.Expires, r.TimerDue = c.here(r.Expires), c.here(r.TimerDue)
	for i := range r.Calls {
		r.Calls[i].KeepUntil = c.here(r.Calls[i].KeepUntil)
	}
}

// effectsThere is a journal of effects with the times of the database, for its rows.
func (c *databaseClock) effectsThere(j *runstore.Effects) *runstore.Effects {
	there := clone(j)
	there.Created, there.Expires = c.there(j.Created), c.there(j.Expires)
	return there
}

// effectsHere is a journal of effects of the database with the times of this host.
func (c *databaseClock) effectsHere(j *runstore.Effects) *runstore.Effects {
	here := clone(j)
	here.Created, here.Expires = c.here(j.Created), c.here(j.Expires)
	return here
}

func clone(j *runstore.Effects) *runstore.Effects {
	c := *j
	c.Effects = slices.Clone(j.Effects)
	return &c
}
