package pipeline

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// authorise shows a call to the hooks, which may change its input, block it, or want a
// person to decide. A call that waited for a person when its run was last stored is not
// shown again.
func authorise(ctx context.Context, c *call) *fault.Rejection {
	r := c.run
	if c.askedBefore() {
		c.input, c.subject.Params = c.Input, c.Input
		return c.findJudged(ctx)
	}
	chain := r.Env.Hooks()
	if chain.Len() == 0 {
		return nil
	}
	asks, rejection := c.judgeSaved(ctx, chain)
	if rejection != nil {
		return rejection
	}
	ruling := chain.Before(ctx, c.subject, func(_, after json.RawMessage) (json.RawMessage, error) {
		if e := r.checkInput(c.tool, after); e != nil {
			return nil, e
		}
		return after, nil
	})
	if ruling.Block != nil {
		return c.blocked(ctx, ruling.Block)
	}
	c.input, c.subject.Params = ruling.Params, ruling.Params
	asks = append(asks, ruling.Asks...)
	if len(asks) == 0 {
		return nil
	}
	if c.saved != nil {
		asks = c.aboutSaved(asks)
	}
	if err := c.ask(ctx, asks); err != nil {
		return c.notAsked(err)
	}
	return nil
}

// askedBefore reports whether the call waited for a person when its run was last stored.
// A host that was killed before the question was out has asked no one.
func (c *call) askedBefore() bool {
	if c.Approval == "" {
		return false
	}
	if _, err := c.run.Env.ApprovalStore.Get(c.run.Context, c.Approval); errors.Is(err, policy.ErrNotFound) {
		c.run.Calls.NotAsked(c.Entry, false)
		return false
	}
	return true
}

// blocked rejects a call that a hook has blocked.
func (c *call) blocked(ctx context.Context, b *policy.Block) *fault.Rejection {
	var e *fault.Rejection
	switch {
	case b.Err != nil && ctx.Err() != nil:
		e = fault.Reject(fault.CodeAborted, "The call of %q was given up before it was made.", c.subject.ToolName)
	case b.Err != nil:
		c.run.Env.Logger.Error("a hook failed, so its call is blocked", "hook", b.Hook, "run", c.run.ID, "call", c.subject.CallID, "tool", c.subject.ToolID, "error", b.Err)
		e = fault.Reject(fault.CodeHookFailed, "The call of %q was blocked before execution, because the hook %q failed.", c.subject.ToolName, b.Hook)
		var plugin *protocol.Error
		if errors.As(b.Err, &plugin) && plugin.Code == protocol.CodeRestarting {
			e = fault.Reject(protocol.CodeRestarting, "The call of %q was not made: the hook %q is being restarted. Make the call again.", c.subject.ToolName, b.Hook)
			e.Retryable = true
		}
	case b.Reason == "":
		e = fault.Reject(fault.CodeBlocked, "The call of %q was blocked before execution by the hook %q.", c.subject.ToolName, b.Hook)
	default:
		e = fault.Reject(fault.CodeBlocked, "The call of %q was blocked before execution: %s", c.subject.ToolName, b.Reason)
	}
	return c.notMade(e)
}
