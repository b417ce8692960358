package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// telling is one nested call as its observers see it. The event grows as more is
// known of the call, and is told when the call ends.
type telling struct {
	trajectory.Event
	run    *run
	start  time.Time
	wanted bool
	span   trace.Span      // nil: no traces
	output json.RawMessage // the schema of the tool's result
	pace   pace            // of progress events
}

// watchCall starts to observe a call.
func (r *run) watchCall(c *call) *telling {
	t := &telling{run: r, start: time.Now(), wanted: r.h.obs.wanted()}
	t.Event = r.event(trajectory.CallEnded)
	t.CallID, t.Method, t.Start = c.publicID(), c.Method, t.start.Round(0)
	return t
}

// before and after make callWatch of telling.
func (t *telling) before(ctx context.Context, stage string, c *call) context.Context {
	switch stage {
	case "invoke":
		t.sends(c.tool, c.input, c.given)
		c.progress = t.progress()
		ctx, t.span = t.run.h.obs.startCall(ctx, t)
	case stageRecord:
		if t.run.leaves(c) {
			t.park()
		} else {
			t.end(c.value, c.rejection)
		}
	}
	return ctx
}

func (t *telling) after(stage string, c *call) {
	switch stage {
	case "resolve":
		t.Via = c.via
		if c.rejection == nil {
			t.found(c.tool, c.tool.ID(), c.input)
		}
	case "authorise":
		t.run.tellQuestion(c)
	case "approve":
		t.run.tellDecision(c)
	case stageRecord:
		c.checkDeclared()
	}
}

// programWatch observes the call that stands for a held program.
type programWatch struct{}

func (programWatch) before(ctx context.Context, _ string, _ *call) context.Context { return ctx }

func (programWatch) after(stage string, c *call) {
	if stage == "approve" {
		c.run.tellDecision(c)
	}
}

// queryWatch observes a search or a description.
type queryWatch struct{ start time.Time }

func (queryWatch) before(ctx context.Context, _ string, _ *call) context.Context { return ctx }

func (w queryWatch) after(stage string, c *call) {
	if stage == stageRecord {
		c.run.tellQueried(c, w.start, c.value, c.rejection)
	}
}

// tellQuestion tells of a question that was just put to people.
func (r *run) tellQuestion(c *call) {
	if c.question != nil {
		r.approvalRequested(c, c.question.ID)
		r.h.announce(c.question)
	}
}

// tellDecision tells what people have just decided.
func (r *run) tellDecision(c *call) {
	if a := c.decision; a != nil {
		r.approvalDecided(c, a.ID, cmp.Or(string(a.Decision), string(a.State)), a.By)
	}
}

// leaves reports whether a call has not ended but its host does: it waits for a
// person or for the run's client, and another host goes on with that.
func (r *run) leaves(c *call) bool {
	if c.rejection == nil || c.rejection.Code != codeAborted || r.record.volatile {
		return false
	}
	if s := r.now(); s != stateLeaving && s != stateLeft {
		return false
	}
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	return c.State == runstore.CallApproval || c.State == runstore.CallAsked
}

// found notes which tool the call is for.
func (t *telling) found(tool *catalog.Tool, id string, input json.RawMessage) {
	t.ToolID, t.ToolName, t.Source, t.Owner = id, tool.Name, string(tool.Source), tool.Owner
	t.InputBytes, t.output = len(input), tool.Output
	if !t.wanted {
		return
	}
	t.Input = t.run.h.obs.jsonBody(input, tool.Parameters)
	e := t.Event
	e.Kind = trajectory.CallStarted
	t.run.h.obs.emit(e)
}

// sends notes what the tool is called with. Hooks may have changed it.
func (t *telling) sends(tool *catalog.Tool, input, asked json.RawMessage) {
	if bytes.Equal(input, asked) {
		return
	}
	t.Rewritten, t.InputBytes = true, len(input)
	if t.wanted {
		t.Input = t.run.h.obs.jsonBody(input, tool.Parameters)
	}
}

// progress returns what takes the interim results of the tool; nil if nobody wants
// them.
func (t *telling) progress() func(json.RawMessage) {
	if !t.wanted {
		return nil
	}
	return func(v json.RawMessage) {
		if !t.pace.admit(time.Now()) {
			return
		}
		e := t.Event // complete since found
		e.Progress = share(v)
		e.Kind, e.Duration, e.OutputBytes = trajectory.CallProgress, time.Since(t.start), len(v)
		e.Input, e.Output = nil, t.run.h.obs.jsonBody(v, nil)
		t.run.h.obs.emit(e)
	}
}

// end tells how the call has settled.
func (t *telling) end(value json.RawMessage, err *callError) {
	o := t.run.h.obs
	t.Duration, t.OutputBytes, t.Outcome = time.Since(t.start), len(value), trajectory.OutcomeOK
	if err != nil {
		t.Outcome, t.Code, t.EffectStatus = trajectory.OutcomeError, err.Code, err.EffectStatus
		if err.unknown {
			t.Outcome = trajectory.OutcomeUnknown
		}
		if err.Code == codeReplyTooLarge {
			t.run.limitPassed(limitReply)
		}
	}
	o.metrics.CallEnded(t.Source, t.Owner, string(t.Outcome), t.Duration)
	if err != nil {
		o.log.callFailed(t)
	}
	t.endSpan()
	if !t.wanted {
		return
	}
	if err == nil {
		t.Output = o.jsonBody(value, t.output)
	} else {
		t.Output = o.body(map[string]string{"error": err.Message})
	}
	o.emit(t.Event)
}

// park tells that the call waits on without this host.
func (t *telling) park() {
	if t.span != nil {
		t.span.SetAttributes(attribute.Bool(attrParked, true))
		t.span.End()
	}
	if t.wanted {
		e := t.Event
		e.Kind, e.Duration = trajectory.CallParked, time.Since(t.start)
		t.run.h.obs.emit(e)
	}
}

// tellInterrupted tells of calls that were in flight when a host stopped and are
// not made again.
func (r *run) tellInterrupted(calls []*call) {
	for _, c := range calls {
		r.h.obs.metrics.CallEnded("", "", string(trajectory.OutcomeUnknown), 0)
		r.h.obs.log.line("tool call interrupted", "run", r.id, "call", c.publicID(), "tool", c.Tool, "effectStatus", effectUnknown)
		if !r.h.obs.wanted() {
			continue
		}
		e := r.event(trajectory.CallEnded)
		e.CallID, e.Method, e.ToolID = c.publicID(), c.Method, c.Tool
		if tool, ok := r.view().catalog.ByID(c.Tool); ok {
			e.ToolName, e.Source, e.Owner = tool.Name, string(tool.Source), tool.Owner
		}
		e.Outcome, e.Code, e.EffectStatus = trajectory.OutcomeUnknown, codeInterrupted, effectUnknown
		r.h.obs.emit(e)
	}
}

// tellQueried tells of a search or a description that the catalog has answered.
func (r *run) tellQueried(c *call, start time.Time, value json.RawMessage, err *callError) {
	o := r.h.obs
	o.metrics.Queried(c.Method)
	if !o.wanted() {
		return
	}
	e := r.event(trajectory.CallEnded)
	e.CallID, e.Method, e.Start, e.Duration = c.publicID(), c.Method, start.Round(0), time.Since(start)
	e.InputBytes, e.OutputBytes, e.Outcome = len(c.Target), len(value), trajectory.OutcomeOK
	if err != nil {
		e.Outcome, e.Code = trajectory.OutcomeError, err.Code
	}
	e.Input = o.body(map[string]string{"query": c.Target})
	o.emit(e)
}

// approvalRequested tells that a call waits for the decision of that id.
func (r *run) approvalRequested(c *call, id string) {
	r.h.obs.metrics.ApprovalRequested()
	r.h.obs.log.approval("approval requested", r, c, id)
	r.tellApproval(trajectory.ApprovalRequested, c, id, "", "")
}

// approvalDecided tells how that was decided, and by whom.
func (r *run) approvalDecided(c *call, id, decision, by string) {
	r.h.obs.metrics.ApprovalDecided(decision)
	r.h.obs.log.approval("approval decided", r, c, id, "decision", decision, "by", by)
	r.tellApproval(trajectory.ApprovalDecided, c, id, decision, by)
}

func (r *run) tellApproval(k trajectory.Kind, c *call, id, decision, by string) {
	if !r.h.obs.wanted() {
		return
	}
	e := r.event(k)
	e.ToolID = r.calls.toolOf(c)
	e.CallID, e.Method, e.ApprovalID, e.Decision, e.By = c.publicID(), c.Method, id, decision, by
	r.h.obs.emit(e)
}

// jsonBody is a document as events may hold it: not at all unless the embedder has
// asked for bodies.
func (o *observer) jsonBody(doc, schema json.RawMessage) json.RawMessage {
	if o.bodies == nil {
		return nil
	}
	return o.bodies.JSON(doc, schema)
}

func (o *observer) body(v map[string]string) json.RawMessage {
	if o.bodies == nil {
		return nil
	}
	for k, s := range v {
		if s == "" {
			delete(v, k)
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return o.bodies.JSON(b, nil)
}
