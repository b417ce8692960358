package host

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/internal/debuglog"
	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/text"
)

// observer tells whoever wants to know what runs and calls do: the sink, the
// subscribers, Config.Observe, traces, metrics, the debug log. With none of them
// but metrics, which are a few atomic additions, no event is even made.
type observer struct {
	h       *Host
	sink    trajectory.Sink
	ended   func(trajectory.Event) // Config.Observe
	bodies  *redact.Redactor
	tracer  trace.Tracer // nil: no traces
	debug   *debuglog.Log
	metrics *metrics.Metrics
	log     operatorLog
	seq     atomic.Uint64
	feed    feed
}

func newObserver(h *Host) *observer {
	o := &observer{
		h:      h,
		sink:   h.cfg.Trajectory,
		ended:  h.cfg.Observe,
		bodies: h.cfg.TrajectoryBodies,
		debug:  debuglog.New(os.Getenv, h.log),
		log:    operatorLog{log: h.log},
	}
	o.metrics = metrics.New(metrics.State{Pool: h.poolState, Runs: h.countRuns, Foreign: h.countForeignRuns, Calls: h.calls.now, Held: h.heldNow, Version: Version})
	o.feed.missed = o.metrics.EventMissed
	if h.cfg.TracerProvider != nil {
		o.tracer = h.cfg.TracerProvider.Tracer("github.com/quoinhq/quoin/host", trace.WithInstrumentationVersion(Version))
	}
	return o
}

// wanted reports whether anybody takes events.
func (o *observer) wanted() bool {
	return o.sink != nil || o.ended != nil || o.feed.any() || o.debug.CodeMode()
}

// emit hands out one event.
func (o *observer) emit(e trajectory.Event) {
	e.Seq = o.seq.Add(1)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.Round(0) // the wall clock alone: it is going to be written down
	if o.sink != nil {
		if err := o.record(e); err != nil {
			o.metrics.RecordFailed()
			o.h.log.Error("an event of a run was not recorded", "run", e.RunID, "kind", e.Kind, "error", err)
		}
	}
	if o.ended != nil && e.Kind == trajectory.CallEnded {
		o.observed(e)
	}
	o.feed.publish(e)
	o.decision(e)
}

// record hands an event to the sink. One that panics has not taken it; the run goes on.
func (o *observer) record(e trajectory.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			o.h.ReportPanic(duringObserver, p, "run", e.RunID)
			err = errObserverPanicked
		}
	}()
	return o.sink.Record(e)
}

// observed hands an event to Config.Observe, in whose panics the run has no part.
func (o *observer) observed(e trajectory.Event) {
	defer func() {
		if p := recover(); p != nil {
			o.h.ReportPanic(duringObserver, p, "run", e.RunID)
		}
	}()
	o.ended(e)
}

var errObserverPanicked = errors.New("the sink panicked")

// decision writes an event to the debug log.
func (o *observer) decision(e trajectory.Event) {
	if !o.debug.CodeMode() {
		return
	}
	args := []any{"run", e.RunID}
	for _, a := range []struct{ key, value string }{
		{"call", e.CallID}, {"parent", e.ParentCallID}, {"tool", e.ToolID}, {"via", e.Via}, {"status", e.Status}, {"reason", e.Reason},
		{"outcome", string(e.Outcome)}, {"code", e.Code}, {"approval", e.ApprovalID}, {"decision", e.Decision},
	} {
		if a.value != "" {
			args = append(args, a.key, text.Cut(a.value, 256))
		}
	}
	if e.Duration > 0 {
		args = append(args, "took", e.Duration)
	}
	o.debug.Decision(string(e.Kind), args...)
}

// poolState, countRuns and now are what metrics read when somebody gathers.
func (h *Host) poolState() metrics.Pool {
	if h.pool == nil {
		return metrics.Pool{}
	}
	s := h.pool.Stats()
	return metrics.Pool{Warm: s.Warm, Kept: s.Kept, InUse: s.InUse, Started: s.Started, Retired: s.Retired}
}

func (h *Host) countRuns() (active, suspended int) {
	h.mu.Lock()
	runs := slices.Collect(maps.Values(h.runs))
	h.mu.Unlock()
	for _, r := range runs {
		if r.now() == stateParked {
			suspended++
		} else {
			active++
		}
	}
	return active, suspended
}

func (h *Host) countForeignRuns() int { return int(h.foreign.Load()) }

func (h *Host) heldNow() (bytes, limit int64) {
	if h.meters == nil {
		return 0, 0
	}
	return h.meters.held.Used(), h.meters.held.Total()
}

func (f *inFlight) now() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// Metrics returns the host's Prometheus metrics. They count from New on and can
// be read after Close.
func (h *Host) Metrics() prometheus.Gatherer { return h.obs.metrics.Gatherer() }

// Debug returns the log that the QUOIN_DEBUG_* variables ask for, nil when they
// ask for nothing. A nil log can be used.
func (h *Host) Debug() *debuglog.Log { return h.obs.debug }

// Subscribe returns the events of all runs from now on, in the order of their Seq
// as far as they were made one after the other. A reader that is too slow for them
// misses some and is told so by an event of kind Gap in their place, whose Missed
// says how many. The channel is closed once ctx has ended or the host has closed
// and the reader has taken what was left; the caller must do one of the two.
func (h *Host) Subscribe(ctx context.Context) <-chan trajectory.Event {
	return h.obs.feed.subscribe(ctx)
}

// toolCallKey is the context key of WithToolCallID.
type toolCallKey struct{}

// maxToolCallID bounds the ids that models give to their calls, in bytes.
const maxToolCallID = 256

// WithToolCallID tells Exec or Wait the id under which the model called it. Events
// and traces of the run's nested calls name the id of its exec as their parent,
// whatever waits come after, in this process or in another.
func WithToolCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, toolCallKey{}, text.Cut(id, maxToolCallID))
}

// ToolCallID returns the id of WithToolCallID, or "".
func ToolCallID(ctx context.Context) string { return toolCallID(ctx) }

func toolCallID(ctx context.Context) string {
	id, _ := ctx.Value(toolCallKey{}).(string)
	return id
}
