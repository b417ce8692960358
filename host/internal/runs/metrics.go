package runs

import (
	"maps"
	"slices"

	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

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
