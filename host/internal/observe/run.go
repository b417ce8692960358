package observe

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
)

// Run observes one run.
type Run struct {
	// Parent is the id of the model's call of exec, and Trace the span of that call
	// in the form of W3C trace context. The record of a suspended run has both.
	Parent string
	Trace  map[string]string
	// Value is what the program returned.
	Value []byte

	o       *Observer
	id      string
	session codemode.Session
	ended   atomic.Bool
	watch   atomic.Pointer[Watch] // of the Exec or Wait that drives the run

	mu     sync.Mutex
	callID string            // the id of the model's call that drives the run
	span   trace.SpanContext // of that call
}

// Run returns an observation of the run with that id.
func (o *Observer) Run(id string, s codemode.Session) *Run {
	return &Run{o: o, id: id, session: s}
}

// Usage is what one exec or wait has used so far.
type Usage struct {
	Start       time.Time
	CPUMicros   uint64
	OutputBytes int64
	ImageBytes  int
	Engine      codemode.Engine
}

func (r *Run) event(k trajectory.Kind) trajectory.Event {
	return trajectory.Event{Kind: k, RunID: r.id, Session: r.session, ParentCallID: r.Parent}
}

// endEvent returns an event about the outcome of one exec or wait.
func (r *Run) endEvent(k trajectory.Kind, u Usage) trajectory.Event {
	e := r.event(k)
	r.mu.Lock()
	e.CallID = r.callID
	r.mu.Unlock()
	e.GuestCPUMs = float64(u.CPUMicros) / 1000
	if u.Engine.ID != "" {
		e.Engine, e.EngineID = u.Engine.Name, u.Engine.ID
	}
	e.OutputBytes = int(u.OutputBytes)
	e.Start = u.Start.Round(0)
	e.Duration = time.Since(u.Start)
	return e
}

// Started reports a run that exec has started. Code is what runs; rewritten says that
// hooks have changed it.
func (r *Run) Started(code, language, title string, rewritten bool, start time.Time) {
	r.o.Metrics.RunStarted()
	if !r.wanted() {
		return
	}
	e := r.event(trajectory.RunStarted)
	e.CallID, e.Language, e.InputBytes, e.Start = r.Parent, language, len(code), start.Round(0)
	e.Rewritten = rewritten
	e.Input = r.o.body(map[string]string{"code": code, "language": language, "title": title})
	r.emit(e)
}

// Resumed reports a run that wait continues.
func (r *Run) Resumed(ctx context.Context, start time.Time) {
	r.o.Metrics.RunResumed()
	if r.wanted() {
		e := r.event(trajectory.RunResumed)
		e.CallID, e.Start = ToolCallID(ctx), start.Round(0)
		r.emit(e)
	}
}

// Awaits reports that a run waits for an MCP server, to those who follow it and to the
// watch of ctx.
func (o *Observer) Awaits(ctx context.Context, runID string, s codemode.Session, server string) {
	w := WatchOf(ctx)
	if w == nil && !o.Wanted() {
		return
	}
	e := o.Emit(trajectory.Event{Kind: trajectory.ServerAwaited, RunID: runID, Session: s, ParentCallID: ToolCallID(ctx), Source: string(catalog.SourceMCP), Owner: server})
	if w != nil {
		w.Tell(Watched{Event: &e})
	}
}

// Suspended reports a run that is about to be suspended.
func (r *Run) Suspended(reason codemode.Reason, u Usage) {
	r.o.Metrics.RunSuspended(string(reason), u.ImageBytes)
	if r.wanted() {
		e := r.endEvent(trajectory.RunSuspended, u)
		e.Status, e.Reason, e.SnapshotBytes = string(codemode.StatusWaiting), string(reason), u.ImageBytes
		r.emit(e)
	}
}

// Ended reports the end of the run. Only the first call counts. A nil failure means that
// the program returned. Ended calls usage only if it emits an event.
func (r *Run) Ended(f *codemode.Error, usage func() Usage) {
	if r.ended.Swap(true) {
		return
	}
	code := string(codemode.StatusCompleted)
	if f != nil {
		code = codeOf(f.Code, f.Reason)
		if limit := limitOf(f); limit != "" {
			r.o.Metrics.LimitHit(limit)
		}
		r.o.log.runFailed(r.id, r.session, f)
	}
	r.o.Metrics.RunEnded(code)
	if !r.wanted() {
		return
	}
	e := r.endEvent(trajectory.RunEnded, usage())
	e.Status = string(codemode.StatusCompleted)
	if f != nil {
		e.Status, e.Code, e.Reason = string(codemode.StatusFailed), codeOf(f.Code, f.Reason), string(f.Reason)
		e.Message = messageOf(f)
	} else {
		e.OutputBytes += len(r.Value)
		e.Output = r.o.jsonBody(r.Value, nil)
	}
	r.emit(e)
}

// Discarded reports the end of a run that this process knows only from its record.
func (r *Run) Discarded(f *codemode.Error) {
	r.o.Metrics.RunEnded(codeOf(f.Code, f.Reason))
	r.o.log.runFailed(r.id, r.session, f)
	if r.wanted() {
		e := r.event(trajectory.RunEnded)
		e.Status, e.Code, e.Reason, e.Message = string(codemode.StatusFailed), codeOf(f.Code, f.Reason), string(f.Reason), messageOf(f)
		r.emit(e)
	}
}

// LimitPassed counts and logs a limit that cut something off and did not end the run.
func (r *Run) LimitPassed(limit string) {
	r.o.Metrics.LimitHit(limit)
	r.o.log.limitHit(r.id, limit)
}

// Limits that are hit without ending a run.
const (
	LimitOutput = "output_bytes"
	LimitReply  = "reply_bytes"
)

// limitOf names the limit that a failure is about, or "".
func limitOf(f *codemode.Error) string {
	limit := map[codemode.Reason]string{
		codemode.ReasonTooManySuspended: "suspended_runs",
		codemode.ReasonTooManyPending:   "pending_calls",
		codemode.ReasonRunExpired:       "snapshot_ttl",
	}[f.Reason]
	return cmp.Or(limit, map[codemode.Code]string{
		codemode.CodeTimeout:       "timeout",
		codemode.CodeOutputLimit:   LimitOutput,
		codemode.CodeSnapshotLimit: "snapshot_bytes",
		codemode.CodeMemoryLimit:   "memory_bytes",
	}[f.Code])
}

// codeOf is the code of a failure for those who watch a host. Results say internal_error of a
// program that threw, or that let the error of a tool through, as of a fault of the host: no
// one is to be woken for that.
func codeOf(code codemode.Code, reason codemode.Reason) string {
	if reason == codemode.ReasonGuestException || reason == codemode.ReasonNestedTool {
		return "program_error"
	}
	return string(code)
}

// maxMessage bounds the recorded message of a failure, in bytes.
const maxMessage = 1 << 10

// messageOf returns the message of a failure for an event, which has it even without bodies.
func messageOf(f *codemode.Error) string {
	return redact.Redactor{MaxBytes: maxMessage}.Text(f.Message)
}
