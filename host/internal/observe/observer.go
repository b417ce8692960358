// Package observe reports what runs and calls do: to the trajectory, to subscribers,
// to Config.Trajectory.OnEvent, as traces, as metrics and in the operator's log.
//
// An [Observer] belongs to a host. The engine starts an [Entry] for each exec or wait,
// a [Run] for each run and a [Call] for each nested call, and passes values to them. The
// package knows nothing of the engine's own types.
//
// All methods are safe for concurrent use. A sink that fails or panics does not change
// what a run does.
package observe

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/internal/debuglog"
	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/text"
)

// Options say where an Observer reports to. Each may be nil except Logger.
type Options struct {
	Logger *slog.Logger
	// Sink takes every event.
	Sink trajectory.Sink
	// CallEnded takes the events of calls that have ended.
	CallEnded func(trajectory.Event)
	// Bodies redacts the programs, inputs and outputs of events. Without it events
	// have sizes only.
	Bodies *redact.Redactor
	// Tracers makes spans.
	Tracers trace.TracerProvider
	// State is what the metrics read when they are gathered.
	State metrics.State
	// Panicked learns of a panic of Sink or CallEnded in a run.
	Panicked func(recovered any, run string)
}

// Observer reports events. With metrics alone, which are a few atomic additions, it
// does not even make them.
type Observer struct {
	// Metrics counts in any case.
	Metrics *metrics.Metrics
	// Debug is the log that the QUOIN_DEBUG_* variables ask for. It may be nil.
	Debug *debuglog.Log

	sink      trajectory.Sink
	callEnded func(trajectory.Event)
	bodies    *redact.Redactor
	tracer    trace.Tracer // nil: no traces
	panicked  func(recovered any, run string)
	logger    *slog.Logger
	log       operatorLog
	seq       atomic.Uint64
	feed      feed
}

// New returns an Observer. Close it when no event follows.
func New(opts Options) *Observer {
	o := &Observer{
		Metrics:   metrics.New(opts.State),
		Debug:     debuglog.New(os.Getenv, opts.Logger),
		sink:      opts.Sink,
		callEnded: opts.CallEnded,
		bodies:    opts.Bodies,
		panicked:  opts.Panicked,
		logger:    opts.Logger,
		log:       operatorLog{log: opts.Logger},
	}
	o.feed.missed = o.Metrics.EventMissed
	if opts.Tracers != nil {
		o.tracer = opts.Tracers.Tracer("github.com/quoinhq/quoin/host", trace.WithInstrumentationVersion(opts.State.Version))
	}
	return o
}

// Close lets every subscriber read the events it has not read yet, and ends the feed.
func (o *Observer) Close() { o.feed.close() }

// Subscribe returns the events from now on, and on demand what programs put out. See
// host.Subscribe.
func (o *Observer) Subscribe(ctx context.Context, outputs bool) <-chan trajectory.Event {
	return o.feed.subscribe(ctx, outputs)
}

// Wanted reports whether events have a reader.
func (o *Observer) Wanted() bool {
	return o.sink != nil || o.callEnded != nil || o.feed.any() || o.Debug.CodeMode()
}

// Emit hands out one event, and returns it with its number and time.
func (o *Observer) Emit(e trajectory.Event) trajectory.Event {
	e.Seq = o.seq.Add(1)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.Round(0) // the wall clock alone, because the event is written down
	if o.sink != nil {
		if err := o.record(e); err != nil {
			o.Metrics.RecordFailed()
			o.logger.Error("an event of a run was not recorded", "run", e.RunID, "kind", e.Kind, "error", err)
		}
	}
	if o.callEnded != nil && e.Kind == trajectory.CallEnded {
		o.passCall(e)
	}
	o.feed.publish(e)
	o.debugEvent(e)
	return e
}

// record hands an event to the sink. A sink that panics did not take it; the run continues.
func (o *Observer) record(e trajectory.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			o.panicked(p, e.RunID)
			err = errSinkPanicked
		}
	}()
	return o.sink.Record(e)
}

var errSinkPanicked = errors.New("the sink panicked")

// passCall hands an event to Options.CallEnded. A panic there does not affect the run.
func (o *Observer) passCall(e trajectory.Event) {
	defer func() {
		if p := recover(); p != nil {
			o.panicked(p, e.RunID)
		}
	}()
	o.callEnded(e)
}

// debugEvent writes an event to the debug log.
func (o *Observer) debugEvent(e trajectory.Event) {
	if !o.Debug.CodeMode() {
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
	o.Debug.Decision(string(e.Kind), args...)
}

// jsonBody returns a document as events may hold it: nil unless the embedder has asked
// for bodies.
func (o *Observer) jsonBody(doc, schema json.RawMessage) json.RawMessage {
	if o.bodies == nil {
		return nil
	}
	return o.bodies.JSON(doc, schema)
}

// body returns the members that are not empty as a document that events may hold.
func (o *Observer) body(members map[string]string) json.RawMessage {
	if o.bodies == nil {
		return nil
	}
	for k, s := range members {
		if s == "" {
			delete(members, k)
		}
	}
	b, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return o.bodies.JSON(b, nil)
}

// toolCallKey is the context key of WithToolCallID.
type toolCallKey struct{}

// maxToolCallID bounds the ids that models give to their calls, in bytes.
const maxToolCallID = 256

// WithToolCallID returns a context with the id under which the model called exec or wait.
func WithToolCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, toolCallKey{}, text.Cut(id, maxToolCallID))
}

// ToolCallID returns the id of WithToolCallID, or "".
func ToolCallID(ctx context.Context) string {
	id, _ := ctx.Value(toolCallKey{}).(string)
	return id
}
