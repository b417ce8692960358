package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
)

// maxReplyBytes bounds what a tool may hand to the guest in one reply. A larger
// reply rejects; it is never cut silently.
const maxReplyBytes = 8 << 20

// checkReply accepts the reply of a tool for the guest and shows the end of the call to
// the hooks, which may replace the reply.
func checkReply(ctx context.Context, c *call) *fault.Rejection {
	if c.rejection == nil {
		if c.value, c.rejection = acceptReply(c.tool, c.value); c.rejection == nil {
			c.reply = c.value
		}
	}
	chain := c.run.Env.Hooks()
	if chain.Len() == 0 {
		return nil
	}
	subject := c.subject
	subject.Params = c.input
	// Hooks hear also of calls that ended with their run.
	replaced, err := chain.After(context.WithoutCancel(ctx), subject, c.outcome())
	switch {
	case err != nil:
		return c.withheld(err)
	case c.rejection != nil:
		return nil
	}
	c.value, c.rejection = acceptReply(c.tool, replaced)
	return nil
}

// outcome is the end of a call as hooks see it.
func (c *call) outcome() policy.Outcome {
	if c.rejection == nil {
		return policy.Outcome{Status: policy.StatusOK, Value: c.value, Duration: c.took}
	}
	o := policy.Outcome{Status: policy.StatusError, Message: c.rejection.Message, Code: c.rejection.Code, Duration: c.took}
	if c.rejection.Unknown {
		o.Status = policy.StatusUnknown
	}
	return o
}

// acceptReply returns a reply as the guest gets it, or the rejection in its place.
func acceptReply(tool *catalog.Tool, value json.RawMessage) (json.RawMessage, *fault.Rejection) {
	if len(value) == 0 {
		return json.RawMessage("null"), nil
	}
	if len(value) > maxReplyBytes {
		return nil, fault.Answered(tool, fault.Reject(fault.CodeReplyTooLarge, "The reply of %q is %d bytes, more than the %d that fit.", tool.Name, len(value), maxReplyBytes), "Ask it for less.")
	}
	if !utf8.Valid(value) || !json.Valid(value) {
		e := fault.Answered(tool, fault.Reject(fault.CodeInvalidReply, "The reply of %q is not JSON in UTF-8.", tool.Name), "")
		if !tool.ReadOnly { // who knows what else went wrong
			e.EffectStatus, e.Unknown = fault.EffectUnknown, true
		}
		return nil, e
	}
	return value, nil
}

// withheld rejects a call when an after-hook did not let its result pass. The tool has been
// called.
func (c *call) withheld(err error) *fault.Rejection {
	c.run.Env.Logger.Error("a hook failed, so the result of its call is withheld", "run", c.run.ID, "tool", c.tool.ID(), "error", err)
	name := ""
	var failed *policy.HookError
	if errors.As(err, &failed) {
		name = failed.Hook
	}
	e := fault.Reject(fault.CodeHookFailed, "%q was called, but its result is withheld, because the hook %q failed.", c.tool.Name, name)
	e.ToolID, e.Unknown = c.tool.ID(), !c.tool.ReadOnly
	if e.Unknown {
		e.EffectStatus = fault.EffectUnknown
	}
	return e
}
