package runs

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Inspector is for tests: it looks at an engine, and makes its limits smaller than the
// limits of a real host.
type Inspector struct{ e *Engine }

// Inspect returns the engine's inspector.
func (e *Engine) Inspect() Inspector { return Inspector{e} }

// Expire ends a suspended run as if its time were over, and returns once it has.
func (i Inspector) Expire(id string) {
	if r := i.e.ByID(id); r != nil {
		r.ExpireAt(time.Now().Add(365 * 24 * time.Hour))
	}
}

// Aborted returns once a run of this process is being ended.
func (i Inspector) Aborted(id string) {
	if r := i.e.ByID(id); r != nil {
		<-r.Context.Done()
	}
}

// Ended returns once a run of this process is over, or another process has it.
func (i Inspector) Ended(id string) {
	if r := i.e.ByID(id); r != nil {
		<-r.Gone
	}
}

// Quiet returns once no tool call is in flight, or ctx ends, and reports how many are
// left.
func (i Inspector) Quiet(ctx context.Context) int { return i.e.Performing.Wait(ctx) }

// CompactAfter makes the journals of resumed runs shorter. Call it before the first run.
func (i Inspector) CompactAfter(bytes int) { i.e.CompactAfter = bytes }

// LeftToRun returns what is left of a run's processor time, and what of it went to the
// catalog.
func (i Inspector) LeftToRun(id string) (left, queries time.Duration) {
	r := i.e.ByID(id)
	c, _ := r.Calls.Costs.CountedAt(time.Now(), time.Now())
	return max(0, r.Settings.CPUBudget-calls.Computed(&c)), time.Duration(c.QueryMicros) * time.Microsecond
}

// HoldsImage reports whether a suspended run has its image in memory, apart from its store.
func (i Inspector) HoldsImage(id string) bool { return i.e.ByID(id).HoldsImage() }

// Settled counts the calls of a run that have settled and were not delivered.
func (i Inspector) Settled(id string) (n int) {
	for _, c := range i.e.ByID(id).Calls.List() {
		if c.State == runstore.CallSettled {
			n++
		}
	}
	return n
}

// EndOrphans ends the approvals of runs that are gone, as the sweeper does.
func (i Inspector) EndOrphans(ctx context.Context) error { return i.e.sweeper.EndOrphans(ctx) }

// Taken returns what is used of each quota, by its name.
func (i Inspector) Taken() map[string]int64 {
	out := map[string]int64{}
	m := i.e.Meters
	for name, meter := range map[string]*quota.Meter{"bytes": m.Held, "workers": m.Workers, "suspended": m.Suspended, "approvals": m.Approvals, "stored": m.Stored, "calls": m.Calls} {
		if n := meter.Used(); n != 0 {
			out[name] = n
		}
	}
	return out
}

// TakeReport handles a report as if a worker had sent it for a new run of the session,
// and ends the run. A panic is not contained.
func (i Inspector) TakeReport(s codemode.Session, to *view.Access, rep *wire.Report) codemode.Telemetry {
	id, err := run.NewID()
	if err != nil {
		panic(err)
	}
	r := i.e.NewRun(id, s, codemode.LanguageJavaScript, to, i.e.Pool)
	if f := i.e.add(r); f != nil {
		panic(f)
	}
	return r.TakeReport(rep)
}

// LocksTaken counts how often the locks of a run were taken.
func (i Inspector) LocksTaken(id string) (n uint64) {
	r := i.e.ByID(id)
	for _, m := range []*calls.CountedMutex{&r.Mu, &r.Scopes.Mu, &r.Used.Mu} {
		n += m.TimesTaken()
	}
	return n + r.Calls.TimesLocked() + r.Record.Locks()
}
