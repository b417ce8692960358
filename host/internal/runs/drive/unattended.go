package drive

import (
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
)

// An unattended driver is one that an advancer has started. It differs from the driver of a
// Wait where there is no one to take a result: output is kept, the caller has still to hear
// of what it is to answer, and the time for which the run is kept does not start again.

// expiresAfter returns when a run expires that is suspended at a time, or runs until then,
// unless its calls ask people: see calls.Table.KeepUntil. Callers prolong the life of a run,
// and its timers do; without a caller they do so for as long as a run is kept at most, so
// that no timer that is set again and again keeps one for ever.
func (g *guest) expiresAfter(at time.Time) time.Time {
	ttl := g.run.Settings.SnapshotTTL
	if !g.unattended {
		return calls.Later(at, g.timerDue).Add(ttl)
	}
	if g.timerDue.IsZero() {
		return g.keptUntil
	}
	longest := g.run.Created.Add(time.Duration(codemode.Ranges().SnapshotTTL.Max) * time.Second)
	if due := g.timerDue.Add(ttl); due.Before(longest) {
		return calls.Later(g.keptUntil, due)
	}
	return calls.Later(g.keptUntil, longest)
}
