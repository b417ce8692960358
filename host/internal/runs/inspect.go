package runs

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// The methods of this file are for tests: they look at an engine, and make its limits
// smaller than those of a real host.

// Expire ends a suspended run as if its time were over, and returns once it has.
func (e *Engine) Expire(id string) {
	if r := e.runByID(id); r != nil {
		r.expire()
	}
}

// Aborted returns once a run of this process is being ended.
func (e *Engine) Aborted(id string) {
	if r := e.runByID(id); r != nil {
		<-r.ctx.Done()
	}
}

// Quiet returns once no tool call is in flight, or ctx ends, and reports how many are
// left.
func (e *Engine) Quiet(ctx context.Context) int { return e.Performing.wait(ctx) }

// CompactAfter makes the journals of resumed runs shorter. Call it before the first run.
func (e *Engine) CompactAfter(bytes int) { e.maxDelivered = bytes }

// QueryFor bounds what the catalog may take for one turn. Call it before the first run.
func (e *Engine) QueryFor(d time.Duration) { e.maxQueryTime = d }

// LeftToRun returns what is left of a run's processor time, and what of it went to the
// catalog.
func (e *Engine) LeftToRun(id string) (left, queries time.Duration) {
	r := e.runByID(id)
	r.calls.locked(func() {
		left, queries = r.driver.cpuLeft(), time.Duration(r.calls.counters.QueryMicros)*time.Microsecond
	})
	return left, queries
}

// Settled counts the calls of a run that have settled and were not delivered.
func (e *Engine) Settled(id string) (n int) {
	for _, c := range e.runByID(id).calls.list() {
		if c.State == runstore.CallSettled {
			n++
		}
	}
	return n
}

// EndOrphans ends the approvals of runs that are gone, as the sweeper does.
func (e *Engine) EndOrphans(ctx context.Context) error { return e.endOrphans(ctx) }

// Taken returns what is used of each quota, by its name.
func (e *Engine) Taken() map[string]int64 {
	out := map[string]int64{}
	m := e.meters
	for name, meter := range map[string]*quota.Meter{"bytes": m.held, "workers": m.workers, "suspended": m.suspended, "approvals": m.approvals} {
		if n := meter.Used(); n != 0 {
			out[name] = n
		}
	}
	return out
}

// TakeReport handles a report as if a worker had sent it for a new run of the session,
// and ends the run. A panic is not contained.
func (e *Engine) TakeReport(s codemode.Session, to *view.Access, rep *wire.Report) codemode.Telemetry {
	r, err := e.newRun(s, codemode.LanguageJavaScript, to)
	if err != nil {
		panic(err)
	}
	if f := e.add(r); f != nil {
		panic(f)
	}
	r.begin(time.Now())
	r.driver.limit(r.ctx, time.Now().Add(time.Minute))
	res := r.driver.handleReport(rep)
	if res == nil {
		res = r.driver.failed(failf(codemode.CodeAborted, "", codemode.PhaseHost, "the test is over"))
	}
	return res.Telemetry
}

// LocksTaken counts how often the locks of a run were taken.
func (e *Engine) LocksTaken(id string) (n uint64) {
	r := e.runByID(id)
	for _, m := range []*countedMutex{&r.mu, &r.calls.mu, &r.record.mu, &r.record.claimMu, &r.scopes.mu, &r.used.mu} {
		m.Mutex.Lock()
		n += m.taken
		m.Mutex.Unlock()
	}
	return n
}

// Stages returns the names of the stages of a call, in order.
func Stages() (names []string) {
	for _, s := range callStages {
		names = append(names, s.name)
	}
	return names
}
