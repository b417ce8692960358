package host

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// The model's own tools.
const (
	toolExec = "exec"
	toolWait = "wait"
)

// told is what a run keeps for its observers.
type told struct {
	parent string            // the id of the model's call of exec
	trace  map[string]string // the span of that call, as it travels between processes
	value  []byte            // what the program returned

	mu     sync.Mutex
	callID string            // the id of the model's call that drives the run
	span   trace.SpanContext // of that call

	ended atomic.Bool
}

// event begins an event of the run.
func (r *run) event(k trajectory.Kind) trajectory.Event {
	return trajectory.Event{Kind: k, RunID: r.id, Session: r.session, ParentCallID: r.told.parent}
}

// tellStarted tells of a run that exec has begun.
func (r *run) tellStarted(in ExecInput, code string, rewritten bool) {
	o := r.h.obs
	o.metrics.RunStarted()
	if !o.wanted() {
		return
	}
	e := r.event(trajectory.RunStarted)
	e.CallID, e.Language, e.InputBytes, e.Start = r.told.parent, r.language, len(code), r.driver.started.Round(0)
	e.Rewritten = rewritten
	e.Input = o.body(map[string]string{"code": code, "language": r.language, "title": in.Title})
	o.emit(e)
}

// tellResumed tells of a run that wait has taken up.
func (r *run) tellResumed(ctx context.Context) {
	o := r.h.obs
	o.metrics.RunResumed()
	if o.wanted() {
		e := r.event(trajectory.RunResumed)
		e.CallID, e.Start = toolCallID(ctx), r.driver.started.Round(0)
		o.emit(e)
	}
}

// tellSuspended tells of a run that is about to be parked, while nobody else can
// have it.
func (r *run) tellSuspended(reason Reason) {
	o := r.h.obs
	o.metrics.RunSuspended(string(reason), r.driver.imageSize)
	if o.wanted() {
		e := r.legEvent(trajectory.RunSuspended)
		e.Status, e.Reason, e.SnapshotBytes = string(StatusWaiting), string(reason), r.driver.imageSize
		o.emit(e)
	}
}

// tellEnded tells, once, that the run has ended and why; nil means that its program
// has returned.
func (r *run) tellEnded(cause error) {
	if r.told.ended.Swap(true) {
		return
	}
	o := r.h.obs
	f := ofCause(cause)
	code := string(StatusCompleted)
	if f != nil {
		code = string(f.Code)
		o.limitHit(f)
		o.log.runFailed(r.id, r.session, f)
	}
	o.metrics.RunEnded(code)
	if !o.wanted() {
		return
	}
	e := r.legEvent(trajectory.RunEnded)
	e.Status = string(StatusCompleted)
	if f != nil {
		e.Status, e.Code, e.Reason = string(StatusFailed), string(f.Code), string(f.Reason)
		e.Message = messageOf(f)
	} else {
		e.OutputBytes += len(r.told.value)
		e.Output = o.jsonBody(r.told.value, nil)
	}
	o.emit(e)
}

// legEvent begins an event that says what one exec or wait came to.
func (r *run) legEvent(k trajectory.Kind) trajectory.Event {
	e := r.event(k)
	r.told.mu.Lock()
	e.CallID = r.told.callID
	r.told.mu.Unlock()
	c, _ := r.calls.countedAt(r.driver.started, time.Now())
	e.GuestCPUMs = float64(c.CPUMicros) / 1000
	e.OutputBytes = int(r.driver.output.used)
	e.Start = r.driver.started.Round(0)
	e.Duration = time.Since(r.driver.started)
	return e
}

// tellDiscarded tells of the end of a run that this process knows from its record
// alone.
func (h *Host) tellDiscarded(rec *runstore.Record, f *failure) {
	h.obs.metrics.RunEnded(string(f.Code))
	h.obs.log.runFailed(rec.ID, rec.Session, f)
	if h.obs.wanted() {
		h.obs.emit(trajectory.Event{
			Kind: trajectory.RunEnded, RunID: rec.ID, Session: rec.Session, ParentCallID: rec.ToolCallID,
			Status: string(StatusFailed), Code: string(f.Code), Reason: string(f.Reason), Message: messageOf(f),
		})
	}
}

// maxMessage bounds what is recorded of a failure's message, in bytes.
const maxMessage = 1 << 10

// messageOf is what is recorded of a failure, also where bodies are not.
func messageOf(f *failure) string { return redact.Redactor{MaxBytes: maxMessage}.Text(f.Message) }

// ofCause says what a run that ended with a cause has failed of.
func ofCause(cause error) *failure {
	var f *failure
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &f):
		return f
	case errors.Is(cause, ErrAborted), errors.Is(cause, ErrSessionEnded), errors.Is(cause, ErrClosed), errors.Is(cause, context.Canceled):
		return failf(CodeAborted, "", PhaseHost, "%v", cause)
	default:
		return ofStore(cause)
	}
}

// limitHit counts the limit that a failure is about.
func (o *observer) limitHit(f *failure) {
	if limit := limitOf(f); limit != "" {
		o.metrics.LimitHit(limit)
	}
}

// limitOf names the limit that a failure is about, or "".
func limitOf(f *failure) string {
	limit := map[Reason]string{
		ReasonTooManySuspended: "suspended_runs",
		ReasonTooManyPending:   "pending_calls",
		ReasonRunExpired:       "snapshot_ttl",
	}[f.Reason]
	return cmp.Or(limit, map[Code]string{
		CodeTimeout:       "timeout",
		CodeOutputLimit:   limitOutput,
		CodeSnapshotLimit: "snapshot_bytes",
		CodeMemoryLimit:   "memory_bytes",
	}[f.Code])
}

// limitPassed counts and logs a limit that cut something off and did not end its run.
func (r *run) limitPassed(limit string) {
	r.h.obs.metrics.LimitHit(limit)
	r.h.obs.log.limitHit(r.id, limit)
}

// Limits that are hit without ending a run.
const (
	limitOutput = "output_bytes"
	limitReply  = "reply_bytes"
)
