package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// invoke has the tool of a call do its work, which may take effect from here on.
func invoke(ctx context.Context, c *call) *fault.Rejection {
	if ctx.Err() != nil { // hooks and people take their time
		return c.notMade(fault.NotDispatched())
	}
	r := c.run
	owner := quota.OwnerOf(r.Session)
	if d := r.Env.Meters.Calls.Take(owner, 1); d != nil {
		r.Env.ReportDenied(r.Session, d)
		return c.notMade(fault.Reject(fault.CodeQuota, "The call of %q was not made: %v. Await some calls before you make more.", c.subject.ToolName, d))
	}
	defer r.Env.Meters.Calls.Give(owner, 1)
	c.invoked = true
	first := r.Calls.Costs.MarkDispatched(c.Entry, !c.tool.ReadOnly)
	held := &heldQuestions{call: c}
	inverse := c.expectEffect()
	start := time.Now()
	inv := catalog.Invocation{
		ID:             c.PublicID(),
		RunID:          r.ID,
		ToolID:         c.tool.ID(),
		IdempotencyKey: c.IdempotencyKey,
		Epoch:          r.Record.Epoch(),
		Session: codemode.Session{
			AgentID: r.Session.AgentID, SessionKey: r.Session.SessionKey,
			SessionID: r.Session.SessionID, TurnID: r.Session.TurnID,
		},
		Input:      c.input,
		Approvals:  c.consent.approvals,
		Progress:   c.progress,
		Resumption: c.resumption,
		Ask: func(actx context.Context, q codemode.Question) (codemode.QuestionAnswer, error) {
			return held.ask(ctx, actx, q)
		},
		RevertBy: inverse.Taker(),
		Deadline: r.RequestDeadline(),
	}
	value, err := c.invokeTool(catalog.WithInvocation(ctx, &inv), inv)
	held.end()
	c.took += time.Since(start)
	var need *codemode.InputRequired
	if errors.As(err, &need) {
		c.hadNoEffect(first)
		if first && !c.Repeated { // else it is unknown still what an earlier host has done
			c.noteEffect(runstore.Effect{State: runstore.EffectNone})
		}
		return c.inquire(ctx, need)
	}
	if err != nil {
		rejection := c.ofAllHosts(failureFromTool(ctx, c.tool, err), !first)
		c.noteEffect(journal.EffectOfFailure(rejection))
		return rejection
	}
	c.noteEffect(inverse.Effect(c.tool))
	c.value = value
	return nil
}

// invokeTool calls the callback that the run's client brought, asks the client, or calls
// the tool itself.
func (c *call) invokeTool(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
	client := c.run.Access.Client
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

// lost rejects a call of a tool when its callback is gone.
func lost(tool *catalog.Tool) *fault.Rejection {
	e := fault.Reject(fault.CodeCatalogChanged, "Tool %s was answered by a callback of the process that started this run, which is gone.", tool.ID())
	e.ToolID = tool.ID()
	return e
}

// failureFromTool translates the failure of a tool that was called.
func failureFromTool(ctx context.Context, tool *catalog.Tool, err error) *fault.Rejection {
	var own *fault.Rejection
	if errors.As(err, &own) {
		return own
	}
	var upstream *mcp.Error
	if errors.As(err, &upstream) {
		return failureFromMCP(tool, upstream)
	}
	out := fault.Reject(fault.CodeNestedTool, "%s", err)
	out.ToolID = tool.ID()
	var pe *protocol.Error
	switch {
	case errors.As(err, &pe):
		out.OfPlugin(tool, pe)
	case ctx.Err() != nil:
		out.Code, out.Unknown = fault.CodeAborted, !tool.ReadOnly
	}
	if out.Unknown {
		out.EffectStatus = fault.EffectUnknown
	}
	out.Message = codemode.BoundMessage(out.Message)
	return out
}

// failureFromMCP translates why a call has no answer from its server.
func failureFromMCP(tool *catalog.Tool, e *mcp.Error) *fault.Rejection {
	out := fault.Reject(string(e.Code), "%s", codemode.BoundMessage(e.Message))
	out.ToolID = tool.ID()
	if len(e.Details) <= fault.MaxDetails {
		out.Details = e.Details
	}
	if out.Unknown = e.Unknown; out.Unknown {
		out.EffectStatus = fault.EffectUnknown
	}
	if e.Retryable {
		out.EffectStatus, out.Retryable = fault.EffectNone, true
	}
	return out
}
