package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const namespace = "quoin"

// Metrics counts what a host does. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	runsStarted   prometheus.Counter
	runsEnded     *prometheus.CounterVec // code
	runsSuspended *prometheus.CounterVec // reason
	runsResumed   prometheus.Counter
	refusals      *prometheus.CounterVec // tool, code
	restores      *prometheus.CounterVec // engine
	snapshotBytes prometheus.Histogram
	guestCPU      *prometheus.CounterVec // engine
	limits        *prometheus.CounterVec // limit

	calls        *prometheus.CounterVec   // source, owner, outcome
	callDuration *prometheus.HistogramVec // source, owner
	queries      *prometheus.CounterVec   // method
	owners       owners

	approvals      *prometheus.CounterVec // decision
	approvalsAsked prometheus.Counter
	recordsFailed  prometheus.Counter
	eventsNotHeard prometheus.Counter
	writesFenced   prometheus.Counter
	routed         *prometheus.CounterVec // outcome
	panics         *prometheus.CounterVec // during
	denied         *prometheus.CounterVec // quota, of
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
	m.runsStarted = m.counter("runs_started_total", "Cells that exec has started to run.")
	m.runsEnded = m.counters("runs_ended_total", "Runs that have ended, by the code of their result, which is completed or that of the failure; program_error for an exception of the program.", "code")
	m.runsSuspended = m.counters("runs_suspended_total", "Times a run was suspended, by reason.", "reason")
	m.runsResumed = m.counter("runs_resumed_total", "Times a suspended run was taken up by wait.")
	m.refusals = m.counters("refusals_total", "Calls of exec and wait that were refused before anything ran, by code.", "tool", "code")
	m.restores = m.counters("guest_restores_total", "Guests that were put into a worker from their snapshot, by engine.", "engine")
	m.snapshotBytes = m.histogram("guest_snapshot_bytes", "Size of the snapshots of suspended runs.", prometheus.ExponentialBuckets(1<<10, 4, 8))
	m.guestCPU = m.counters("guest_cpu_seconds_total", "Processor time of guests, by engine.", "engine")
	m.limits = m.counters("limits_hit_total", "Times a limit was hit, by limit.", "limit")
	m.recordsFailed = m.counter("trajectory_failures_total", "Events that the trajectory sink did not take.")
	m.panics = m.counters("panics_total", "Panics that were recovered from, by what was going on. Each is a mistake in the host or in the embedder's code, and is in the log with its stack.", "during")
	m.denied = m.counters("quota_denied_total", "Times something was refused because a quota was used up, by quota and by whose it is: session, agent or host.", "quota", "of")
	m.writesFenced = m.counter("store_writes_fenced_total", "Writes of runs that the store refused because another host had taken the run over.")
	m.routed = m.counters("requests_routed_total", "Requests for runs that were passed to the host which holds the run, by outcome: answered or unanswered.", "outcome")
	m.eventsNotHeard = m.counter("subscriber_events_missed_total", "Events that a subscriber was too slow for.")
}

func (m *Metrics) makeCalls() {
	m.calls = m.counters("calls_total", "Nested tool calls that have ended, by source and owner of the tool and by outcome.", "source", "owner", "outcome")
	m.callDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "call_duration_seconds", Help: "Time from the dispatch of a nested tool call to its settlement.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"source", "owner"})
	m.registry.MustRegister(m.callDuration)
	m.queries = m.counters("catalog_queries_total", "Searches and descriptions that guests asked of the catalog.", "method")
	m.approvalsAsked = m.counter("approvals_requested_total", "Calls that had to wait for a decision.")
	m.approvals = m.counters("approvals_decided_total", "Decisions about calls that waited for one.", "decision")
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

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

// RunStarted counts a run.
func (m *Metrics) RunStarted() { m.runsStarted.Inc() }

// RunEnded counts the end of a run: its code is completed, or the code of the failure.
func (m *Metrics) RunEnded(code string) { m.runsEnded.WithLabelValues(code).Inc() }

// RunSuspended counts a suspension and the size of its snapshot in bytes.
func (m *Metrics) RunSuspended(reason string, snapshot int) {
	m.runsSuspended.WithLabelValues(reason).Inc()
	m.snapshotBytes.Observe(float64(snapshot))
}

// RunResumed counts a run that wait has taken up.
func (m *Metrics) RunResumed() { m.runsResumed.Inc() }

// Refused counts a call of exec or wait that made or took up no run.
func (m *Metrics) Refused(tool, code string) { m.refusals.WithLabelValues(tool, code).Inc() }

// GuestRestored counts a guest that was put into a worker of that engine.
func (m *Metrics) GuestRestored(engine string) { m.restores.WithLabelValues(engine).Inc() }

// GuestRan adds the processor time of one turn in that engine. A negative one does not
// count.
func (m *Metrics) GuestRan(engine string, cpu time.Duration) {
	m.guestCPU.WithLabelValues(engine).Add(max(cpu, 0).Seconds())
}

// LimitHit counts a limit that stopped, refused or cut something.
func (m *Metrics) LimitHit(limit string) { m.limits.WithLabelValues(limit).Inc() }

// CallEnded counts a nested call. Source and owner are empty for a call that
// reached no tool.
func (m *Metrics) CallEnded(source, owner, outcome string, d time.Duration) {
	if source == "" {
		m.calls.WithLabelValues("none", "none", outcome).Inc()
		return
	}
	owner = m.owners.name(source, owner)
	m.calls.WithLabelValues(source, owner, outcome).Inc()
	m.callDuration.WithLabelValues(source, owner).Observe(d.Seconds())
}

// Queried counts what a guest asked of the catalog.
func (m *Metrics) Queried(method string) { m.queries.WithLabelValues(method).Inc() }

// ApprovalRequested counts a call that waits for a decision.
func (m *Metrics) ApprovalRequested() { m.approvalsAsked.Inc() }

// ApprovalDecided counts a decision.
func (m *Metrics) ApprovalDecided(decision string) { m.approvals.WithLabelValues(decision).Inc() }

// RecordFailed counts an event that the sink did not take.
func (m *Metrics) RecordFailed() { m.recordsFailed.Inc() }

// Panicked counts a panic that was recovered from.
func (m *Metrics) Panicked(during string) { m.panics.WithLabelValues(during).Inc() }

// Denied counts what was refused because a quota of a session, an agent or the host is
// used up.
func (m *Metrics) Denied(quota, of string) { m.denied.WithLabelValues(quota, of).Inc() }

// WriteFenced counts a write that came too late.
func (m *Metrics) WriteFenced() { m.writesFenced.Inc() }

// Routed counts a request to another host, which has answered or not.
func (m *Metrics) Routed(answered bool) {
	outcome := "unanswered"
	if answered {
		outcome = "answered"
	}
	m.routed.WithLabelValues(outcome).Inc()
}

// EventMissed counts an event that a subscriber was too slow for.
func (m *Metrics) EventMissed() { m.eventsNotHeard.Inc() }
