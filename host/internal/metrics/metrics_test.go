package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/runstore"
)

func busy() *metrics.Metrics {
	m := metrics.New(metrics.State{
		Pool: func() metrics.Pool {
			return metrics.Pool{Warm: 2, Kept: 1, InUse: 3, Started: 9, Retired: map[string]uint64{"released": 2, "timeout": 1}}
		},
		Runs:    func() (int, int) { return 3, 40 },
		Foreign: func() int { return 2 },
		Calls:   func() int { return 5 },
		Held:    func() (bytes, limit int64) { return 1000, 2000 },
		Engine:  func() (name, id string) { return "native", "quickjs-ng-1/arena-1" },
		Version: "1.2.3",
		Cluster: func() (map[string]int, bool) { return map[string]int{"credentials": 1}, true },
		Due:     func() int { return 1 },
		Store: func() (runstore.Health, bool) {
			return runstore.Health{State: runstore.HealthSlow, RoundTrip: time.Second, Takeovers: 3, DueLag: time.Minute}, true
		},
	})
	m.RunStarted()
	m.Panicked("call")
	m.Denied("suspended", "session")
	m.RunSuspended("yield", 3000)
	m.RunResumed()
	m.RunEnded("completed")
	m.Refused("wait", "invalid_input")
	m.GuestRestored("default")
	m.GuestRan("native", 1500*time.Millisecond)
	m.LimitHit("timeout")
	m.CallEnded("quoin", "issues", "ok", 3*time.Millisecond)
	m.CallEnded("", "", "error", 0)
	m.Queried("search")
	m.ApprovalRequested()
	m.ApprovalDecided("deny")
	m.RecordFailed()
	m.EventMissed()
	m.WriteFenced()
	m.Routed(true)
	m.Routed(true)
	m.Routed(false)
	return m
}

// TestLint holds every metric against the conventions of Prometheus.
func TestLint(t *testing.T) {
	families, err := busy().Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) < 18 {
		t.Errorf("only %d metrics", len(families))
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "quoin_") || !strings.HasSuffix(f.GetHelp(), ".") {
			t.Errorf("%s: %q", f.GetName(), f.GetHelp())
		}
	}
}

// TestValues compares what was counted.
func TestValues(t *testing.T) {
	want := `
# HELP quoin_calls_total Nested tool calls that have ended, by source and owner of the tool and by outcome.
# TYPE quoin_calls_total counter
quoin_calls_total{outcome="error",owner="none",source="none"} 1
quoin_calls_total{outcome="ok",owner="issues",source="quoin"} 1
# HELP quoin_guest_cpu_seconds_total Processor time of guests, by engine.
# TYPE quoin_guest_cpu_seconds_total counter
quoin_guest_cpu_seconds_total{engine="native"} 1.5
# HELP quoin_guest_engine_info Always 1; its labels are the engine of new runs, default or native, and its id.
# TYPE quoin_guest_engine_info gauge
quoin_guest_engine_info{engine="native",id="quickjs-ng-1/arena-1"} 1
# HELP quoin_pool_workers Guest workers: warm ones that are unused, kept ones that wait for their session, and those in use.
# TYPE quoin_pool_workers gauge
quoin_pool_workers{state="in_use"} 3
quoin_pool_workers{state="kept"} 1
quoin_pool_workers{state="warm"} 2
# HELP quoin_pool_workers_retired_total Guest workers that have ended, by ending: released, or the code or reason of the failure.
# TYPE quoin_pool_workers_retired_total counter
quoin_pool_workers_retired_total{ending="released"} 2
quoin_pool_workers_retired_total{ending="timeout"} 1
# HELP quoin_requests_routed_total Requests for runs that were passed to the host which holds the run, by outcome: answered or unanswered.
# TYPE quoin_requests_routed_total counter
quoin_requests_routed_total{outcome="answered"} 2
quoin_requests_routed_total{outcome="unanswered"} 1
# HELP quoin_runs Runs that this host holds: active ones inside an exec or wait, and suspended ones.
# TYPE quoin_runs gauge
quoin_runs{state="active"} 3
quoin_runs{state="suspended"} 40
# HELP quoin_runs_due_lag_seconds For how long the oldest run could have gone on without a caller when the database was last asked. It grows while hosts are too busy, or none of them can go on with the run.
# TYPE quoin_runs_due_lag_seconds gauge
quoin_runs_due_lag_seconds 60
# HELP quoin_runs_taken_over_total Runs that this host has taken over from hosts that had gone.
# TYPE quoin_runs_taken_over_total counter
quoin_runs_taken_over_total 3
# HELP quoin_store_round_trip_seconds Time of the newest renewal of this host's lease in the database, whose answer may still be missing.
# TYPE quoin_store_round_trip_seconds gauge
quoin_store_round_trip_seconds 1
# HELP quoin_store_state 1 for the state of a database that keeps the runs, as this host sees it, 0 for the others: ok, slow, read_only or gone.
# TYPE quoin_store_state gauge
quoin_store_state{state="gone"} 0
quoin_store_state{state="ok"} 0
quoin_store_state{state="read_only"} 0
quoin_store_state{state="slow"} 1
`
	err := testutil.GatherAndCompare(busy().Gatherer(), strings.NewReader(want),
		"quoin_calls_total", "quoin_guest_cpu_seconds_total", "quoin_guest_engine_info", "quoin_pool_workers", "quoin_pool_workers_retired_total", "quoin_requests_routed_total",
		"quoin_runs", "quoin_runs_due_lag_seconds", "quoin_runs_taken_over_total", "quoin_store_round_trip_seconds", "quoin_store_state")
	if err != nil {
		t.Error(err)
	}
}

// TestOwnersAreBounded gives it more owners than there may be series, and owners
// that callers choose.
func TestOwnersAreBounded(t *testing.T) {
	m := busy()
	for i := range 1000 {
		m.CallEnded("client", fmt.Sprint("caller", i), "ok", 0)
		m.CallEnded("mcp", fmt.Sprint("server", i), "ok", 0)
	}
	n, err := testutil.GatherAndCount(m.Gatherer(), "quoin_calls_total")
	if err != nil {
		t.Fatal(err)
	}
	if most := 100 + 3; n > most {
		t.Errorf("%d series, want at most %d", n, most)
	}
}
