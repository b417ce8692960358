package runs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// invoke has the tool of a call do its work, which may take effect from here on.
func invoke(ctx context.Context, c *call) *callError {
	if ctx.Err() != nil { // hooks and people take their time
		return c.notMade(notDispatched())
	}
	r := c.run
	owner := quota.OwnerOf(r.session)
	if d := r.engine.meters.calls.Take(owner, 1); d != nil {
		r.engine.ReportDenied(r.session, d)
		return c.notMade(rejectf(codeQuota, "The call of %q was not made: %v. Await some calls before you make more.", c.subject.ToolName, d))
	}
	defer r.engine.meters.calls.Give(owner, 1)
	c.invoked = true
	first := r.calls.markDispatched(c.entry, !c.tool.ReadOnly)
	held := &heldQuestions{call: c}
	inverse := c.expectEffect()
	start := time.Now()
	inv := catalog.Invocation{
		ID:             c.publicID(),
		RunID:          r.id,
		ToolID:         c.tool.ID(),
		IdempotencyKey: c.IdempotencyKey,
		Epoch:          r.record.epoch(),
		Session: codemode.Session{
			AgentID: r.session.AgentID, SessionKey: r.session.SessionKey,
			SessionID: r.session.SessionID, TurnID: r.session.TurnID,
		},
		Input:      c.input,
		Approvals:  c.approvals,
		Progress:   c.progress,
		Resumption: c.resumption,
		Ask: func(actx context.Context, q codemode.Question) (codemode.QuestionAnswer, error) {
			return held.ask(ctx, actx, q)
		},
		RevertBy: inverse.taker(),
		Deadline: r.requestDeadline(),
	}
	value, err := c.invokeTool(catalog.WithInvocation(ctx, &inv), inv)
	held.end()
	c.took += time.Since(start)
	var need *codemode.InputRequired
	if errors.As(err, &need) {
		c.hadNoEffect(first)
		c.noteEffect(runstore.Effect{State: runstore.EffectNone})
		return c.inquire(ctx, need)
	}
	if err != nil {
		rejection := failureFromTool(ctx, c.tool, err)
		c.noteEffect(effectOfFailure(rejection))
		return rejection
	}
	c.noteEffect(inverse.effect(c.tool))
	c.value = value
	return nil
}

// invokeTool calls the callback that the run's client brought, asks the client, or calls
// the tool itself.
func (c *call) invokeTool(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
	client := c.run.access.Client
	if client != nil && client.Callbacks[c.tool.ID()] != nil {
		return client.Callbacks[c.tool.ID()](ctx, inv)
	}
	if c.tool.Source != catalog.SourceClient {
		return c.tool.Invoke(ctx, inv)
	}
	if client.Lost[c.tool.ID()] {
		return nil, lost(c.tool)
	}
	return c.run.ask(ctx, c)
}

// lost rejects a call of a tool whose callback is gone.
func lost(tool *catalog.Tool) *callError {
	e := rejectf(codeCatalogChanged, "Tool %s was answered by a callback of the process that started this run, which is gone.", tool.ID())
	e.ToolID = tool.ID()
	return e
}

// failureFromTool translates the failure of a tool that was called.
func failureFromTool(ctx context.Context, tool *catalog.Tool, err error) *callError {
	var own *callError
	if errors.As(err, &own) {
		return own
	}
	var upstream *mcp.Error
	if errors.As(err, &upstream) {
		return failureFromMCP(tool, upstream)
	}
	out := rejectf(codeNestedTool, "%s", err)
	out.ToolID = tool.ID()
	var pe *protocol.Error
	switch {
	case errors.As(err, &pe):
		out.ofPlugin(tool, pe)
	case ctx.Err() != nil:
		out.Code, out.unknown = codeAborted, !tool.ReadOnly
	}
	if out.unknown {
		out.EffectStatus = effectUnknown
	}
	out.Message = codemode.BoundMessage(out.Message)
	return out
}

// failureFromMCP translates why a call has no answer from its server.
func failureFromMCP(tool *catalog.Tool, e *mcp.Error) *callError {
	out := rejectf(string(e.Code), "%s", codemode.BoundMessage(e.Message))
	out.ToolID = tool.ID()
	if len(e.Details) <= maxDetails {
		out.Details = e.Details
	}
	if out.unknown = e.Unknown; out.unknown {
		out.EffectStatus = effectUnknown
	}
	if e.Retryable {
		out.EffectStatus, out.Retryable = effectNone, true
	}
	return out
}

// maxDetails bounds the details of an error in the guest, in bytes. More are left
// out.
const maxDetails = 16 << 10

// ofPlugin takes over what an error of a plugin says. Where the plugin does not say
// what the call has changed, the kind of the error does: a tool that ran and failed
// has said what there is to say, and whatever else went wrong may have gone wrong
// halfway.
func (e *callError) ofPlugin(tool *catalog.Tool, pe *protocol.Error) {
	e.Message, e.Code, e.Retryable = pe.Message, pe.Code, pe.Retryable
	if len(pe.Details) <= maxDetails {
		e.Details = pe.Details
	}
	switch pe.Effect {
	case protocol.EffectNone, protocol.EffectDone:
		e.EffectStatus = pe.Effect.String()
		return
	case protocol.EffectUnknown:
		e.unknown = true
		return
	}
	switch pe.Code {
	case protocol.CodeDraining, protocol.CodeRestarting: // the call has not started
		e.EffectStatus, e.Retryable = effectNone, true
		return
	case protocol.CodeDisabled:
		e.EffectStatus = effectNone
		return
	}
	switch pe.Kind {
	case protocol.KindTool, protocol.KindInput:
	default:
		e.unknown = !tool.ReadOnly
	}
}
