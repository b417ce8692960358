package pipeline

import (
	"cmp"
	"context"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/policy"
)

// callObservation observes the stages of one nested call.
type callObservation struct {
	run      *Run
	observed *observe.Call
}

// Observer tells observers of a run's calls.
type Observer struct{ *Run }

func (r Observer) observeCall(c *call) callObservation {
	return callObservation{r.Run, r.Observed.Call(c.PublicID(), c.Method)}
}

// before and after make callWatch of callObservation.
func (o callObservation) before(ctx context.Context, stage string, c *call) context.Context {
	switch stage {
	case stageInvoke:
		c.progress = o.observed.Progress()
		ctx = o.observed.Invoke(ctx, c.tool, c.input, c.given)
	case stageRecord:
		if o.run.leaves(c) {
			o.observed.Park()
		} else {
			o.observed.End(c.value, rejectionOf(c.rejection))
		}
	}
	return ctx
}

func (o callObservation) after(stage string, c *call) {
	switch stage {
	case stageResolve:
		o.observed.Via = c.via
		if c.rejection == nil {
			o.observed.Resolved(c.tool, c.input)
		}
	case stageAuthorise:
		Observer{o.run}.observeQuestion(c.Entry, c.consent.question)
	case stageApprove:
		Observer{o.run}.observeDecision(c.Entry, c.consent.decision)
	case stageInvoke:
		if c.consent.sentBack {
			o.observed.Asks()
			Observer{o.run}.observeQuestion(c.Entry, c.consent.question)
		}
	case stageRecord:
		c.checkDeclared()
	}
}

func rejectionOf(err *fault.Rejection) *observe.Rejection {
	if err == nil {
		return nil
	}
	return &observe.Rejection{
		Code: err.Code, EffectStatus: err.EffectStatus, Message: err.Message,
		Unknown: err.Unknown, TooLarge: err.Code == fault.CodeReplyTooLarge,
	}
}

// programWatch observes the call that stands for a held program.
type programWatch struct{}

func (programWatch) before(ctx context.Context, _ string, _ *call) context.Context { return ctx }

func (programWatch) after(stage string, c *call) {
	if stage == stageApprove {
		Observer{c.run}.observeDecision(c.Entry, c.consent.decision)
	}
}

// queryWatch observes a search or a description.
type queryWatch struct{ start time.Time }

func (queryWatch) before(ctx context.Context, _ string, _ *call) context.Context { return ctx }

func (w queryWatch) after(stage string, c *call) {
	if stage == stageRecord {
		Observer{c.run}.observeQuery(c, w.start)
	}
}

// observeQuestion reports an approval that was just put to people; nil is nothing.
func (r Observer) observeQuestion(c *calls.Entry, a *policy.Approval) {
	if a != nil {
		r.Observed.ApprovalRequested(r.approvalOf(c, a.ID), a.Questions)
		r.Observed.Asked(func() codemode.PendingApproval { return run.PendingApproval(a) })
		r.Env.Announce(a)
	}
}

// observeDecision reports what people have just decided or answered; nil is nothing.
func (r Observer) observeDecision(c *calls.Entry, a *policy.Approval) {
	if a != nil {
		o := r.approvalOf(c, a.ID)
		o.Decision, o.By = cmp.Or(string(a.Decision), string(a.State)), a.By
		r.Observed.ApprovalDecided(o, a.Answers)
	}
}

// leaves reports whether a call has not ended but its host does: it waits for a person or
// for the run's client, and another host continues that.
func (r *Run) leaves(c *call) bool {
	if c.rejection == nil || c.rejection.Code != fault.CodeAborted || r.Record.IsVolatile() {
		return false
	}
	if s := r.Now(); s != run.Leaving && s != run.Left {
		return false
	}
	return r.Calls.Questions.AwaitsAnswer(c.Entry)
}

// approvalOf returns the question of that id about a call.
func (r Observer) approvalOf(c *calls.Entry, id string) observe.Approval {
	return observe.Approval{ID: id, CallID: c.PublicID(), Method: c.Method, ToolID: r.Calls.ToolOf(c)}
}

// ObserveInterrupted reports calls that were in flight when a host stopped and are not
// made again.
func (r Observer) ObserveInterrupted(calls []*calls.Entry) {
	for _, c := range calls {
		tool, _ := r.View().Catalog.ByID(c.Tool)
		r.Observed.Interrupted(c.PublicID(), c.Method, c.Tool, tool, observe.Rejection{Code: fault.CodeInterrupted, EffectStatus: fault.EffectUnknown})
	}
}

// observeQuery reports a search or a description that the catalog has answered.
func (r Observer) observeQuery(c *call, start time.Time) {
	q := observe.Query{ID: c.PublicID(), Method: c.Method, Text: c.Target, Start: start, OutputBytes: len(c.value)}
	if c.rejection != nil {
		q.Code = c.rejection.Code
	}
	r.Observed.Queried(q)
}

// maxCheckedReply bounds the replies that are compared with what their tools declare.
const maxCheckedReply = 256 << 10

// checkDeclared compares a reply with the output schema of its tool. The guest
// has its answer by then, and gets the same either way: the tool has taken effect,
// and a program is helped more by a result that is not quite as declared than by
// no result. Operators are told, once for each tool and schema. The results of MCP servers
// are left to the package that speaks with them: their schemas are of a part of
// the result.
func (c *call) checkDeclared() {
	if c.reply == nil || len(c.tool.Output) == 0 || len(c.reply) > maxCheckedReply || c.tool.Source == catalog.SourceMCP {
		return
	}
	id := c.tool.ID()
	err := c.run.View().Catalog.ValidateOutput(id, c.reply)
	if err == nil {
		return
	}
	if _, told := c.run.Env.badOutputs.LoadOrStore(id+" "+run.SchemaDigest(c.tool), true); !told {
		c.run.Env.Logger.Warn("a tool returns what it does not declare; programs get it all the same", "tool", id, "error", err)
	}
}
