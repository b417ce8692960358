package host

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/trajectory"
)

// Attributes of spans. Those of gen_ai and error are OpenTelemetry's semantic
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
	attrToolID       = "quoin.tool.id"
	attrOwner        = "quoin.tool.owner"
	attrVia          = "quoin.tool.via"
	attrEffect       = "quoin.tool.effect_status"
	attrParked       = "quoin.tool.parked"
	attrInputBytes   = "quoin.tool.input_bytes"
	attrOutputBytes  = "quoin.tool.output_bytes"

	operationExecuteTool = "execute_tool"
)

// act is one exec or wait as observers see it.
type act struct {
	o       *observer
	caller  context.Context
	tool    string
	session Session
	start   time.Time
	run     *run       // nil: none was made or taken up
	span    trace.Span // nil: no traces, or not begun
}

// act begins to observe an exec or wait.
func (o *observer) act(caller context.Context, tool string, s Session) *act {
	return &act{o: o, caller: caller, tool: tool, session: s, start: time.Now()}
}

// drives notes which run it drives, and returns ctx with its span. The span is under
// that of the caller; without one, a wait is under the exec of its run.
func (a *act) drives(ctx context.Context, r *run) context.Context {
	a.run = r
	if a.tool == toolExec {
		r.told.parent = toolCallID(ctx)
	}
	ctx = a.begin(ctx)
	if a.tool == toolExec {
		r.told.trace = carried(ctx)
	}
	r.told.mu.Lock()
	defer r.told.mu.Unlock()
	r.told.callID, r.told.span = toolCallID(ctx), trace.SpanContextFromContext(ctx)
	return ctx
}

func (a *act) begin(ctx context.Context) context.Context {
	if a.o.tracer == nil {
		return ctx
	}
	attrs := []attribute.KeyValue{
		attribute.String(attrOperation, operationExecuteTool),
		attribute.String(attrToolName, a.tool),
		attribute.String(attrToolType, "function"),
	}
	attrs = some(attrs, attrToolCallID, toolCallID(ctx), attrConversation, a.session.SessionID, attrAgent, a.session.AgentID)
	opts := []trace.SpanStartOption{trace.WithTimestamp(a.start)}
	if a.run != nil {
		attrs = some(attrs, attrRun, a.run.id, attrParent, a.run.told.parent)
		if exec := carrying(a.run.told.trace); exec.IsValid() && trace.SpanContextFromContext(ctx).IsValid() {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: exec}))
		} else if exec.IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, exec)
		}
	}
	ctx, a.span = a.o.tracer.Start(ctx, operationExecuteTool+" "+a.tool, append(opts, trace.WithAttributes(attrs...))...)
	return ctx
}

// end notes the result and returns it.
func (a *act) end(res *Result) *Result {
	if a.run == nil {
		a.o.metrics.Refused(a.tool, string(res.Code))
		a.o.log.refused(a.tool, a.session, res)
		a.begin(a.caller)
	}
	if a.span == nil {
		return res
	}
	a.span.SetAttributes(some(nil, attrStatus, string(res.Status), attrReason, string(res.Reason))...)
	if res.Status == StatusFailed {
		fail(a.span, string(res.Code))
	}
	a.span.End()
	return res
}

// startCall begins the span of a nested call, under that of the exec or wait that
// drives the run.
func (o *observer) startCall(ctx context.Context, t *telling) (context.Context, trace.Span) {
	if o.tracer == nil {
		return ctx, nil
	}
	t.run.told.mu.Lock()
	parent := t.run.told.span
	t.run.told.mu.Unlock()
	if !parent.IsValid() {
		parent = carrying(t.run.told.trace)
	}
	attrs := []attribute.KeyValue{
		attribute.String(attrOperation, operationExecuteTool),
		attribute.String(attrToolName, t.ToolName),
		attribute.String(attrToolCallID, t.CallID),
		attribute.String(attrToolType, toolType(t.Source)),
		attribute.Int(attrInputBytes, t.InputBytes),
	}
	attrs = some(attrs, attrRun, t.RunID, attrParent, t.ParentCallID, attrToolID, t.ToolID, attrOwner, t.Owner, attrVia, t.Via,
		attrConversation, t.Session.SessionID, attrAgent, t.Session.AgentID)
	return o.tracer.Start(trace.ContextWithSpanContext(ctx, parent), operationExecuteTool+" "+t.ToolName, trace.WithAttributes(attrs...))
}

func (t *telling) endSpan() {
	if t.span == nil {
		return
	}
	t.span.SetAttributes(attribute.Int(attrOutputBytes, t.OutputBytes))
	t.span.SetAttributes(some(nil, attrEffect, t.EffectStatus)...)
	if t.Outcome != trajectory.OutcomeOK {
		fail(t.span, t.Code)
	}
	t.span.End()
}

// toolType is the kind of tool in the words of the conventions: one that runs with
// us is an extension, one that the client runs a function.
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

// some appends the pairs of key and value whose value is not empty.
func some(attrs []attribute.KeyValue, pairs ...string) []attribute.KeyValue {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			attrs = append(attrs, attribute.String(pairs[i], pairs[i+1]))
		}
	}
	return attrs
}

// carried returns the span of ctx in the form of W3C trace context, nil if there is
// none, for a record that another process may read.
func carried(ctx context.Context) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c
}

func carrying(c map[string]string) trace.SpanContext {
	if len(c) == 0 {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier(c)))
}
