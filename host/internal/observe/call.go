package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
)

// Call observes one nested call. Its event grows as more is known of the call, and is
// emitted when the call ends.
type Call struct {
	trajectory.Event
	run      *Run
	start    time.Time
	wanted   bool
	span     trace.Span      // nil: no traces
	output   json.RawMessage // the schema of the tool's result
	progress progressLimiter
}

// Call starts to observe a call of the run.
func (r *Run) Call(id, method string) *Call {
	c := &Call{run: r, start: time.Now(), wanted: r.wanted()}
	c.Event = r.event(trajectory.CallEnded)
	c.CallID, c.Method, c.Start = id, method, c.start.Round(0)
	return c
}

// Resolved notes which tool the call is for, and what the program gave to it.
func (c *Call) Resolved(tool *catalog.Tool, input json.RawMessage) {
	c.ToolID, c.ToolName, c.Source, c.Owner = tool.ID(), tool.Name, string(tool.Source), tool.Owner
	c.InputBytes, c.output = len(input), tool.Output
	if !c.wanted {
		return
	}
	c.Input = c.run.o.jsonBody(input, tool.Parameters)
	e := c.Event
	e.Kind = trajectory.CallStarted
	c.run.emit(e)
}

// Invoke notes that the tool gets input, which hooks may have changed from what the
// program gave. It returns a context with the call's span.
func (c *Call) Invoke(ctx context.Context, tool *catalog.Tool, input, given json.RawMessage) context.Context {
	if !bytes.Equal(input, given) {
		c.Rewritten, c.InputBytes = true, len(input)
		if c.wanted {
			c.Input = c.run.o.jsonBody(input, tool.Parameters)
		}
	}
	ctx, c.span = c.run.startSpan(ctx, c)
	return ctx
}

// Progress returns a function for the interim results of the tool, or nil if events have
// no reader.
func (c *Call) Progress() func(json.RawMessage) {
	if !c.wanted {
		return nil
	}
	return func(v json.RawMessage) {
		if !c.progress.admit(time.Now()) {
			return
		}
		e := c.Event // complete since Resolved
		e.Progress, e.Message = stepsOf(v)
		e.Kind, e.Duration, e.OutputBytes = trajectory.CallProgress, time.Since(c.start), len(v)
		e.Input, e.Output = nil, c.run.o.jsonBody(v, nil)
		c.run.emit(e)
	}
}

// Rejection is how a call failed.
type Rejection struct {
	Code, EffectStatus, Message string
	// Unknown says that the call may have taken effect. TooLarge says that its reply was
	// over the limit.
	Unknown, TooLarge bool
}

// End reports how the call has settled. A nil rejection means that it has a value.
func (c *Call) End(value json.RawMessage, rejected *Rejection) {
	o := c.run.o
	c.Duration, c.OutputBytes, c.Outcome = time.Since(c.start), len(value), trajectory.OutcomeOK
	if rejected != nil {
		c.Outcome, c.Code, c.EffectStatus = trajectory.OutcomeError, rejected.Code, rejected.EffectStatus
		if rejected.Unknown {
			c.Outcome = trajectory.OutcomeUnknown
		}
		if rejected.TooLarge {
			c.run.LimitPassed(LimitReply)
		}
	}
	o.Metrics.CallEnded(c.Source, c.Owner, string(c.Outcome), c.Duration)
	if rejected != nil {
		o.log.callFailed(c)
	}
	c.endSpan()
	if !c.wanted {
		return
	}
	if rejected == nil {
		c.Output = o.jsonBody(value, c.output)
	} else {
		c.Output = o.body(map[string]string{"error": rejected.Message})
	}
	c.run.emit(c.Event)
}

// Asks notes that the tool has returned with questions: its span ends, and the call has
// another one once they are answered.
func (c *Call) Asks() {
	if c.span != nil {
		c.span.SetAttributes(attribute.Bool(attrParked, true))
		c.span.End()
		c.span = nil
	}
}

// Park reports that the call continues to wait without this host.
func (c *Call) Park() {
	if c.span != nil {
		c.span.SetAttributes(attribute.Bool(attrParked, true))
		c.span.End()
	}
	if c.wanted {
		e := c.Event
		e.Kind, e.Duration = trajectory.CallParked, time.Since(c.start)
		c.run.emit(e)
	}
}

// Interrupted reports a call that was in flight when a host stopped and is not made
// again. The tool is nil if it does not exist any more.
func (r *Run) Interrupted(id, method, toolID string, tool *catalog.Tool, rejected Rejection) {
	r.o.Metrics.CallEnded("", "", string(trajectory.OutcomeUnknown), 0)
	r.o.log.line("tool call interrupted", "run", r.id, "call", id, "tool", toolID, "effectStatus", rejected.EffectStatus)
	if !r.wanted() {
		return
	}
	e := r.event(trajectory.CallEnded)
	e.CallID, e.Method, e.ToolID = id, method, toolID
	if tool != nil {
		e.ToolName, e.Source, e.Owner = tool.Name, string(tool.Source), tool.Owner
	}
	e.Outcome, e.Code, e.EffectStatus = trajectory.OutcomeUnknown, rejected.Code, rejected.EffectStatus
	r.emit(e)
}

// Query is one search or description.
type Query struct {
	ID, Method, Text string
	Start            time.Time
	OutputBytes      int
	Code             string // of a refusal
}

// Queried reports a search or a description that the catalog has answered.
func (r *Run) Queried(q Query) {
	r.o.Metrics.Queried(q.Method)
	if !r.wanted() {
		return
	}
	e := r.event(trajectory.CallEnded)
	e.CallID, e.Method, e.Start, e.Duration = q.ID, q.Method, q.Start.Round(0), time.Since(q.Start)
	e.InputBytes, e.OutputBytes, e.Outcome = len(q.Text), q.OutputBytes, trajectory.OutcomeOK
	if q.Code != "" {
		e.Outcome, e.Code = trajectory.OutcomeError, q.Code
	}
	e.Input = r.o.body(map[string]string{"query": q.Text})
	r.emit(e)
}

// Approval is a question about a call.
type Approval struct {
	ID                     string
	CallID, Method, ToolID string
	Decision, By           string // once it is decided
}

// ApprovalRequested reports that a call waits for a decision, or for answers to
// questions of its tool.
func (r *Run) ApprovalRequested(a Approval, questions []codemode.Question) {
	r.o.Metrics.ApprovalRequested()
	r.o.log.approval("approval requested", r, a)
	r.approval(trajectory.ApprovalRequested, a, r.o.questions(questions), nil)
}

// ApprovalDecided reports the decision about a call, or the answers.
func (r *Run) ApprovalDecided(a Approval, answers map[string]codemode.QuestionAnswer) {
	r.o.Metrics.ApprovalDecided(a.Decision)
	r.o.log.approval("approval decided", r, a, "decision", a.Decision, "by", a.By)
	r.approval(trajectory.ApprovalDecided, a, nil, r.o.answers(answers))
}

// ApprovalCancelled reports a question of a run that exists no more.
func (r *Run) ApprovalCancelled(a Approval) {
	r.o.Metrics.ApprovalDecided(a.Decision)
	r.approval(trajectory.ApprovalDecided, a, nil, nil)
}

func (r *Run) approval(k trajectory.Kind, a Approval, input, output json.RawMessage) {
	if !r.wanted() {
		return
	}
	e := r.event(k)
	e.ToolID, e.CallID, e.Method = a.ToolID, a.CallID, a.Method
	e.ApprovalID, e.Decision, e.By = a.ID, a.Decision, a.By
	e.Input, e.Output = input, output
	r.emit(e)
}

// questions returns what a tool asks as a document that events may hold. Addresses stay
// out of it: they may hold what proves a sign-in.
func (o *Observer) questions(list []codemode.Question) json.RawMessage {
	if o.bodies == nil || len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].URL = ""
	}
	return o.documents(list)
}

// answers returns what people have answered as a document that events may hold.
func (o *Observer) answers(m map[string]codemode.QuestionAnswer) json.RawMessage {
	if o.bodies == nil || len(m) == 0 {
		return nil
	}
	return o.documents(m)
}

func (o *Observer) documents(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return o.jsonBody(b, nil)
}
