package runs

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/upkeep"
	"github.com/quoinhq/quoin/host/runstore"
)

// Engine runs cells: it owns the guest workers, the runs of this process, the stores of
// runs and approvals, and what sessions share. What runs reach, and which hooks look at
// their calls, it asks its embedder.
type Engine struct {
	*drive.Env

	*guests.Guests

	advancer *upkeep.Advancer // nil: no run goes on without a caller
	moved    *upkeep.Moved
	sweeper  *upkeep.Sweeper
	asked    askedHosts

	// lastWakes bounds what a host that closes tells others of its runs; nil: it lets go of no runs.
	lastWakes atomic.Pointer[context.Context]

	mu        sync.Mutex
	closing   bool                  // nothing new is let in
	closed    bool                  // close has started
	runs      map[string]*drive.Run // active and suspended, by run id
	recent    recentRuns
	driving   calls.InFlight // Execs and Waits
	answering sync.Mutex     // orders answers that have to load their run
}

// PoolState, countRuns, countForeignRuns and heldNow are what metrics read.
// gauges are what metrics read of an engine.
type gauges struct{ *Engine }

// Metrics returns what metrics read of the engine, for a host of that version.
func (e *Engine) Metrics(version string) metrics.State {
	g := gauges{e}
	return metrics.State{Pool: g.pool, Runs: g.runs, Foreign: g.foreignRuns, Calls: e.Performing.Now, Held: g.held, Engine: g.engine, Version: version,
		Due: g.due, Store: func() (runstore.Health, bool) { return e.StoreHealth(e.Life) }}
}

func (e gauges) pool() metrics.Pool {
	if e.Pool == nil {
		return metrics.Pool{}
	}
	s := e.Pool.Stats()
	return metrics.Pool{Warm: s.Warm, Kept: s.Kept, InUse: s.InUse, Started: s.Started, Retired: s.Retired}
}

func (e gauges) due() int {
	return e.advancer.DueNow()
}

func (e gauges) engine() (name, id string) {
	if e.Pool != nil {
		_, id = e.Pool.Engine()
	}
	return run.EngineOf(id).Name, id
}

func (e gauges) runs() (active, suspended int) {
	e.mu.Lock()
	runs := slices.Collect(maps.Values(e.Engine.runs))
	e.mu.Unlock()
	for _, r := range runs {
		if r.Now() == run.Parked {
			suspended++
		} else {
			active++
		}
	}
	return active, suspended
}

func (e gauges) foreignRuns() int { return e.sweeper.ForeignRuns() }

func (e gauges) held() (bytes, limit int64) {
	if e.Meters == nil {
		return 0, 0
	}
	return e.Meters.Held.Used(), e.Meters.Held.Total()
}

// ByID returns the run of this process with that id, or nil.
func (e *Engine) ByID(id string) *drive.Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// recordFor returns the record of a run of the session. What is known of one that has
// expired is in the error.
func (e *Engine) recordFor(ctx context.Context, s codemode.Session, id string) (*runstore.Record, error) {
	rec, err := e.Store.Get(ctx, id)
	if rec != nil {
		if f := fault.MayResume(rec.Session, s); f != nil {
			return nil, f
		}
	}
	if err != nil {
		return nil, run.WithRecord(fault.FromStore(err), rec)
	}
	if rec.Moving != "" {
		return nil, run.WithRecord(beingMoved(), rec)
	}
	return rec, nil
}

// beingMoved refuses a run that no host may go on with for now.
func beingMoved() *codemode.Error {
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseHost,
		"code mode run is being moved to another store. Wait for it again in a moment; if it stays so, the operator has to repeat quoin state move.")
}

// runsOf returns the runs of the session that this process has.
func (e *Engine) runsOf(s codemode.Session) (out []*drive.Run) { return e.OwnedBy(s.Covers) }

func (e *Engine) OwnedBy(wanted func(codemode.Session) bool) (out []*drive.Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs {
		if wanted(r.Session) {
			out = append(out, r)
		}
	}
	return out
}

// enter lets an Exec or Wait in, which leaves callers when it returns.
func (e *Engine) enter() *codemode.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return fault.Closing()
	}
	e.driving.Enter()
	return nil
}

func (e *Engine) IsClosing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closing
}

// add makes r known to Wait and Close.
func (e *Engine) add(r *drive.Run) *codemode.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fault.Closing()
	}
	e.runs[r.ID] = r
	return nil
}

func (e *Engine) Remove(r *drive.Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[r.ID] == r {
		delete(e.runs, r.ID)
	}
}

// The model's own tools.
const (
	toolExec = "exec"
	ToolWait = "wait"
)

func (e *Engine) Remember(id string, s codemode.Session, why *codemode.Error) {
	e.recent.add(id, s, why)
}

// LetGoOfMoved lets go of idle runs that other processes have by now.
func (e *Engine) LetGoOfMoved(ctx context.Context, since time.Time) (bool, error) {
	return e.moved.LetGo(ctx, since)
}
