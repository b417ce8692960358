package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quoinhq/quoin/host/runstore"
)

// State reads what a host holds now. Every function is called whenever a client
// gathers, and must not be nil.
type State struct {
	Pool    func() Pool
	Runs    func() (active, suspended int)
	Foreign func() int // suspended runs of other guest builds
	Calls   func() int // in flight
	Held    func() (bytes, limit int64)
	Engine  func() (name, id string) // of new runs
	Version string                   // of the host
	Due     func() int               // runs that could continue without a caller when the store was last asked
	Store   func() (h runstore.Health, ok bool)
	Cluster func() (faults map[string]int, ok bool) // by kind
}

// Pool is what a pool of guest workers holds, and what became of its workers.
type Pool struct {
	Warm, Kept, InUse int
	Started           uint64
	Retired           map[string]uint64 // by ending
}

var (
	poolWorkers = desc("pool_workers", "Guest workers: warm ones that are unused, kept ones that wait for their session, and those in use.", "state")
	poolStarted = desc("pool_workers_started_total", "Guest workers that got ready.")
	poolRetired = desc("pool_workers_retired_total", "Guest workers that have ended, by ending: released, or the code or reason of the failure.", "ending")
	runsHeld    = desc("runs", "Runs that this host holds: active ones inside an exec or wait, and suspended ones.", "state")
	runsForeign = desc("foreign_runs", "Suspended runs in the store of builds of the guest that this host does not have.")
	callsActive = desc("calls_in_flight", "Nested tool calls that have started and not ended.")
	heldBytes   = desc("held_bytes", "Bytes of arguments, answers, output and images that this host holds for runs.")
	heldLimit   = desc("held_bytes_limit", "What quoin_held_bytes may come to, the setting quotas.heldBytes.")
	runsDue     = desc("runs_due", "Runs that could go on without a caller when the store was last asked, at most as many as this host has room for.")
	storeState  = desc("store_state", "1 for the state of a database that keeps the runs, as this host sees it, 0 for the others: ok, slow, read_only or gone.", "state")
	storeTrip   = desc("store_round_trip_seconds", "Time of the newest renewal of this host's lease in the database, whose answer may still be missing.")
	storeTakes  = desc("runs_taken_over_total", "Runs that this host has taken over from hosts that had gone.")
	storeLag    = desc("runs_due_lag_seconds", "For how long the oldest run could have gone on without a caller when the database was last asked. It grows while hosts are too busy, or none of them can go on with the run.")
	clusterBad  = desc("cluster_faults", "Hosts of the cluster that live and cannot be asked, as this host sees it, by what is wrong: credentials, unreachable, other_host, or loopback of this host.", "fault")
	engineInfo  = desc("guest_engine_info", "Always 1; its labels are the engine of new runs, default or native, and its id.", "engine", "id")
	buildInfo   = desc("build_info", "Always 1; its label is the version of the host.", "version")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

// stateCollector turns a State into metrics.
type stateCollector struct{ state State }

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolWorkers, poolStarted, poolRetired, runsHeld, runsForeign, runsDue, storeState, storeTrip, storeTakes, storeLag, clusterBad, callsActive, heldBytes, heldLimit, engineInfo, buildInfo} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	p := c.state.Pool()
	gauge(poolWorkers, float64(p.Warm), "warm")
	gauge(poolWorkers, float64(p.Kept), "kept")
	gauge(poolWorkers, float64(p.InUse), "in_use")
	counter(poolStarted, float64(p.Started))
	for ending, n := range p.Retired {
		counter(poolRetired, float64(n), ending)
	}
	active, suspended := c.state.Runs()
	gauge(runsHeld, float64(active), "active")
	gauge(runsHeld, float64(suspended), "suspended")
	gauge(runsForeign, float64(c.state.Foreign()))
	gauge(runsDue, float64(c.state.Due()))
	if h, ok := c.state.Store(); ok {
		for _, s := range []runstore.HealthState{runstore.HealthOK, runstore.HealthSlow, runstore.HealthReadOnly, runstore.HealthGone} {
			is := 0.0
			if s == h.State {
				is = 1
			}
			gauge(storeState, is, string(s))
		}
		gauge(storeTrip, h.RoundTrip.Seconds())
		counter(storeTakes, float64(h.Takeovers))
		gauge(storeLag, h.DueLag.Seconds())
	}
	if faults, ok := c.state.Cluster(); ok {
		for kind, n := range faults {
			gauge(clusterBad, float64(n), kind)
		}
	}
	gauge(callsActive, float64(c.state.Calls()))
	held, limit := c.state.Held()
	gauge(heldBytes, float64(held))
	gauge(heldLimit, float64(limit))
	name, id := c.state.Engine()
	gauge(engineInfo, 1, name, id)
	gauge(buildInfo, 1, c.state.Version)
}
