package observe

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
)

// Attributes of spans. The attributes of gen_ai and error are OpenTelemetry's semantic
// conventions for generative AI; the others are ours.
const (
	attrOperation    = "gen_ai.operation.name"
	attrToolName     = "gen_ai.tool.name"
	attrToolCallID   = "gen_ai.tool.call.id"
	attrToolType     = "gen_ai.tool.type"
	attrConversation = "gen_ai.conversation.id"
	attrAgent        = "gen_ai.agent.id"
	attrErrorType    = "error.type"
	attrRun          = "quoin.run.id"
	attrParent       = "quoin.parent.call.id"
	attrStatus       = "quoin.run.status"
	attrReason       = "quoin.run.reason"
	attrEngine       = "quoin.run.engine"
	attrToolID       = "quoin.tool.id"
	attrOwner        = "quoin.tool.owner"
	attrVia          = "quoin.tool.via"
	attrEffect       = "quoin.tool.effect_status"
	attrParked       = "quoin.tool.parked"
	attrInputBytes   = "quoin.tool.input_bytes"
	attrOutputBytes  = "quoin.tool.output_bytes"

	operationExecuteTool = "execute_tool"
)

// toolExec is the tool that starts runs.
const toolExec = "exec"

// Entry observes one exec or wait.
type Entry struct {
	Start time.Time

	o         *Observer
	caller    context.Context
	tool      string
	session   codemode.Session
	run       *Run       // nil: no run was made or resumed
	span      trace.Span // nil: no traces, or not started
	passed    bool       // another host drives the run
	delivered bool       // the run had ended before
}

// Enter starts to observe an exec or wait.
func (o *Observer) Enter(caller context.Context, tool string, s codemode.Session) *Entry {
	return &Entry{o: o, caller: caller, tool: tool, session: s, Start: time.Now()}
}

// Drive notes the run of the entry, and returns ctx with the entry's span. The parent of
// the span is the caller's span. Without one, the parent of a wait is the exec of its run.
func (e *Entry) Drive(ctx context.Context, r *Run) context.Context {
	e.run = r
	r.watch.Store(WatchOf(ctx))
	if e.tool == toolExec {
		r.Parent = ToolCallID(ctx)
	}
	ctx = e.startSpan(ctx)
	if e.tool == toolExec {
		r.Trace = inject(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.callID, r.span = ToolCallID(ctx), trace.SpanContextFromContext(ctx)
	return ctx
}

func (e *Entry) startSpan(ctx context.Context) context.Context {
	if e.o.tracer == nil {
		return ctx
	}
	attrs := []attribute.KeyValue{
		attribute.String(attrOperation, operationExecuteTool),
		attribute.String(attrToolName, e.tool),
		attribute.String(attrToolType, "function"),
	}
	attrs = appendSet(attrs, attrToolCallID, ToolCallID(ctx), attrConversation, e.session.SessionID, attrAgent, e.session.AgentID)
	opts := []trace.SpanStartOption{trace.WithTimestamp(e.Start)}
	if e.run != nil {
		attrs = appendSet(attrs, attrRun, e.run.id, attrParent, e.run.Parent)
		if exec := extract(e.run.Trace); exec.IsValid() && trace.SpanContextFromContext(ctx).IsValid() {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: exec}))
		} else if exec.IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, exec)
		}
	}
	ctx, e.span = e.o.tracer.Start(ctx, operationExecuteTool+" "+e.tool, append(opts, trace.WithAttributes(attrs...))...)
	return ctx
}

// Passed notes that another host drives the run, which observes it.
func (e *Entry) Passed() { e.passed = true }

// Delivered notes that the result is the result of a run that had ended before.
func (e *Entry) Delivered() { e.delivered = true }

// End notes the result and returns it.
func (e *Entry) End(res *codemode.Result) *codemode.Result {
	if e.run == nil && !e.passed {
		if !e.delivered {
			e.o.Metrics.Refused(e.tool, string(res.Code))
			e.o.log.refused(e.tool, e.session, res)
		}
		e.startSpan(e.caller)
	}
	if e.span == nil {
		return res
	}
	e.span.SetAttributes(appendSet(nil, attrStatus, string(res.Status), attrReason, string(res.Reason), attrEngine, res.Telemetry.Engine.ID)...)
	if res.Status == codemode.StatusFailed {
		fail(e.span, codeOf(res.Code, res.Reason))
	}
	e.span.End()
	return res
}

// startSpan starts the span of a nested call. Its parent is the exec or wait that drives
// the run.
func (r *Run) startSpan(ctx context.Context, c *Call) (context.Context, trace.Span) {
	if r.o.tracer == nil {
		return ctx, nil
	}
	r.mu.Lock()
	parent := r.span
	r.mu.Unlock()
	if !parent.IsValid() {
		parent = extract(r.Trace)
	}
	attrs := []attribute.KeyValue{
		attribute.String(attrOperation, operationExecuteTool),
		attribute.String(attrToolName, c.ToolName),
		attribute.String(attrToolCallID, c.CallID),
		attribute.String(attrToolType, toolType(c.Source)),
		attribute.Int(attrInputBytes, c.InputBytes),
	}
	attrs = appendSet(attrs, attrRun, c.RunID, attrParent, c.ParentCallID, attrToolID, c.ToolID, attrOwner, c.Owner, attrVia, c.Via,
		attrConversation, c.Session.SessionID, attrAgent, c.Session.AgentID)
	return r.o.tracer.Start(trace.ContextWithSpanContext(ctx, parent), operationExecuteTool+" "+c.ToolName, trace.WithAttributes(attrs...))
}

func (c *Call) endSpan() {
	if c.span == nil {
		return
	}
	c.span.SetAttributes(attribute.Int(attrOutputBytes, c.OutputBytes))
	c.span.SetAttributes(appendSet(nil, attrEffect, c.EffectStatus)...)
	if c.Outcome != trajectory.OutcomeOK {
		fail(c.span, c.Code)
	}
	c.span.End()
}

// toolType returns the kind of tool in the words of the conventions. A tool that runs
// with the host is an extension, and one that the client runs is a function.
func toolType(source string) string {
	if source == string(catalog.SourceClient) {
		return "function"
	}
	return "extension"
}

// fail marks a span. The message of the error stays out of it: it may quote input.
func fail(span trace.Span, code string) {
	code = cmp.Or(code, "_OTHER")
	span.SetAttributes(attribute.String(attrErrorType, code))
	span.SetStatus(codes.Error, code)
}

// appendSet appends the pairs of key and value that have a value.
func appendSet(attrs []attribute.KeyValue, pairs ...string) []attribute.KeyValue {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			attrs = append(attrs, attribute.String(pairs[i], pairs[i+1]))
		}
	}
	return attrs
}

// inject returns the span of ctx in the form of W3C trace context, for a record that
// another process may read. It returns nil without a span.
func inject(ctx context.Context) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c
}

// extract reads what inject has written.
func extract(c map[string]string) trace.SpanContext {
	if len(c) == 0 {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier(c)))
}
