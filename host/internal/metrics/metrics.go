package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "quoin"

// Metrics counts what a host does. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	runs     runs
	guests   guests
	calls    calls
	losses   losses
}

// runs count what becomes of runs.
type runs struct {
	started, resumed                  prometheus.Counter
	ended, suspended, refused, routed *prometheus.CounterVec
}

// guests count what guests cost, and the limits that they hit.
type guests struct {
	restored, cpu, limits *prometheus.CounterVec
	snapshotBytes         prometheus.Histogram
}

// calls count nested calls, and what is asked of the catalog and of people.
type calls struct {
	ended, queries, approvals *prometheus.CounterVec
	duration                  *prometheus.HistogramVec
	approvalsAsked            prometheus.Counter
	owners                    owners
}

// losses count what a host lost, refused or recovered from.
type losses struct {
	records, events, writes prometheus.Counter
	panics, denied          *prometheus.CounterVec
}

// New makes the metrics of one host. Each gathering reads the state.
func New(s State) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.makeRuns()
	m.makeCalls()
	m.registry.MustRegister(&stateCollector{s})
	return m
}

// Gatherer reads the metrics.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

func (m *Metrics) makeRuns() {
	m.runs.started = m.counter("runs_started_total", "Cells that exec has started to run.")
	m.runs.ended = m.counters("runs_ended_total", "Runs that have ended, by the code of their result, which is completed or the code of the failure; program_error for an exception of the program.", "code")
	m.runs.suspended = m.counters("runs_suspended_total", "Times a run was suspended, by reason.", "reason")
	m.runs.resumed = m.counter("runs_resumed_total", "Times a suspended run was taken up by wait.")
	m.runs.refused = m.counters("refusals_total", "Calls of exec and wait that were refused before anything ran, by code.", "tool", "code")
	m.guests.restored = m.counters("guest_restores_total", "Guests that were put into a worker from their snapshot, by engine.", "engine")
	m.guests.snapshotBytes = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "guest_snapshot_bytes", Help: "Size of the snapshots of suspended runs.", Buckets: prometheus.ExponentialBuckets(1<<10, 4, 8),
	})
	m.registry.MustRegister(m.guests.snapshotBytes)
	m.guests.cpu = m.counters("guest_cpu_seconds_total", "Processor time of guests, by engine.", "engine")
	m.guests.limits = m.counters("limits_hit_total", "Times a limit was hit, by limit.", "limit")
	m.losses.records = m.counter("trajectory_failures_total", "Events that the trajectory sink did not take.")
	m.losses.panics = m.counters("panics_total", "Panics that were recovered from, by what was going on. Each is a mistake in the host or in the embedder's code, and is in the log with its stack.", "during")
	m.losses.denied = m.counters("quota_denied_total", "Times something was refused because a quota was used up, by quota and by who has it: a session, an agent or the host.", "quota", "of")
	m.losses.writes = m.counter("store_writes_fenced_total", "Writes of runs that the store refused because another host had taken the run over.")
	m.runs.routed = m.counters("requests_routed_total", "Requests for runs that were passed to the host which holds the run, by outcome: answered or unanswered.", "outcome")
	m.losses.events = m.counter("subscriber_events_missed_total", "Events that a subscriber was too slow for.")
}

func (m *Metrics) makeCalls() {
	m.calls.ended = m.counters("calls_total", "Nested tool calls that have ended, by source and owner of the tool and by outcome.", "source", "owner", "outcome")
	m.calls.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "call_duration_seconds", Help: "Time from the dispatch of a nested tool call to its settlement.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"source", "owner"})
	m.registry.MustRegister(m.calls.duration)
	m.calls.queries = m.counters("catalog_queries_total", "Searches and descriptions that guests asked of the catalog.", "method")
	m.calls.approvalsAsked = m.counter("approvals_requested_total", "Calls that had to wait for a decision.")
	m.calls.approvals = m.counters("approvals_decided_total", "Decisions about calls that waited for one.", "decision")
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

// RunStarted counts a run.
func (m *Metrics) RunStarted() { m.runs.started.Inc() }

// RunEnded counts the end of a run: its code is completed, or the code of the failure.
func (m *Metrics) RunEnded(code string) { m.runs.ended.WithLabelValues(code).Inc() }

// RunSuspended counts a suspension and the size of its snapshot in bytes.
func (m *Metrics) RunSuspended(reason string, snapshot int) {
	m.runs.suspended.WithLabelValues(reason).Inc()
	m.guests.snapshotBytes.Observe(float64(snapshot))
}

// RunResumed counts a run that wait has taken up.
func (m *Metrics) RunResumed() { m.runs.resumed.Inc() }

// Refused counts a call of exec or wait that made or took up no run.
func (m *Metrics) Refused(tool, code string) { m.runs.refused.WithLabelValues(tool, code).Inc() }

// GuestRestored counts a guest that was put into a worker of that engine.
func (m *Metrics) GuestRestored(engine string) { m.guests.restored.WithLabelValues(engine).Inc() }

// GuestRan adds the processor time of one turn in that engine. A negative one does not
// count.
func (m *Metrics) GuestRan(engine string, cpu time.Duration) {
	m.guests.cpu.WithLabelValues(engine).Add(max(cpu, 0).Seconds())
}

// LimitHit counts a limit that stopped, refused or cut something.
func (m *Metrics) LimitHit(limit string) { m.guests.limits.WithLabelValues(limit).Inc() }

// CallEnded counts a nested call. Source and owner are empty for a call that
// reached no tool.
func (m *Metrics) CallEnded(source, owner, outcome string, d time.Duration) {
	if source == "" {
		m.calls.ended.WithLabelValues("none", "none", outcome).Inc()
		return
	}
	owner = m.calls.owners.name(source, owner)
	m.calls.ended.WithLabelValues(source, owner, outcome).Inc()
	m.calls.duration.WithLabelValues(source, owner).Observe(d.Seconds())
}

// Queried counts what a guest asked of the catalog.
func (m *Metrics) Queried(method string) { m.calls.queries.WithLabelValues(method).Inc() }

// ApprovalRequested counts a call that waits for a decision.
func (m *Metrics) ApprovalRequested() { m.calls.approvalsAsked.Inc() }

// ApprovalDecided counts a decision.
func (m *Metrics) ApprovalDecided(decision string) { m.calls.approvals.WithLabelValues(decision).Inc() }

// RecordFailed counts an event that the sink did not take.
func (m *Metrics) RecordFailed() { m.losses.records.Inc() }

// Panicked counts a panic that was recovered from.
func (m *Metrics) Panicked(during string) { m.losses.panics.WithLabelValues(during).Inc() }

// Denied counts what was refused because a quota of a session, an agent or the host is
// used up.
func (m *Metrics) Denied(quota, of string) { m.losses.denied.WithLabelValues(quota, of).Inc() }

// WriteFenced counts a write that came too late.
func (m *Metrics) WriteFenced() { m.losses.writes.Inc() }

// Routed counts a request to another host, which has answered or not.
func (m *Metrics) Routed(answered bool) {
	outcome := "unanswered"
	if answered {
		outcome = "answered"
	}
	m.runs.routed.WithLabelValues(outcome).Inc()
}

// EventMissed counts an event that a subscriber was too slow for.
func (m *Metrics) EventMissed() { m.losses.events.Inc() }
