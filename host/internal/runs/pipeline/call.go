package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// call is a bridge call that is being performed. It belongs to the goroutine that
// performs it: to its stages.
type call struct {
	*calls.Entry // guarded by the mu of the table; this goroutine may read what it alone changes
	run          *Run

	tool       *catalog.Tool
	saved      *programs.Program // that the call starts
	via        string            // how the guest writes the tool
	given      json.RawMessage   // the input as resolved
	input      json.RawMessage   // the input to use: hooks may have changed it
	subject    policy.Call       // the call as hooks and people see it
	progress   func(json.RawMessage)
	budget     queryBudget
	consent    consent
	effect     int                  // its number in the journal of effects; 0: it has no place there
	resumption *codemode.Resumption // what the tool asked for and people have answered
	invoked    bool                 // its tool may have taken effect
	took       time.Duration        // by the tool
	value      json.RawMessage      // what the guest gets
	reply      json.RawMessage      // of the tool, before any hook
	rejection  *fault.Rejection     // what the guest gets instead
	next       []*calls.Entry       // calls that have got the slot of this one
	lost       error                // why the store does not know of next
}

// consent is what people are asked about a call, and what they have answered.
type consent struct {
	question  *policy.Approval   // newly put to them
	decision  *policy.Approval   // what they have decided
	approvals []catalog.Approval // what allowed the call
	sentBack  bool               // to the stage approve, which waits for the question
}

// notMade marks a rejection of a call that never reached its tool, or that had no effect
// there.
func (c *call) notMade(e *fault.Rejection) *fault.Rejection {
	e.ToolID, e.EffectStatus = c.subject.ToolID, fault.EffectNone
	return c.ofAllHosts(e, c.Dispatched && c.tool != nil)
}

// ofAllHosts returns a rejection that is true of earlier hosts as well. One that has made the
// call before may have had the effect that this host had not.
func (c *call) ofAllHosts(e *fault.Rejection, madeBefore bool) *fault.Rejection {
	if e.EffectStatus == fault.EffectNone && (madeBefore || c.Repeated) && (c.tool == nil || !c.tool.ReadOnly) {
		e.EffectStatus, e.Unknown, e.Retryable = fault.EffectUnknown, true, false
	}
	return e
}

// whyNotRecorded adds to a message what the program can do something about.
func whyNotRecorded(lost error) string {
	if errors.Is(lost, runstore.ErrTooLarge) {
		return ", because it and the calls that it waits for are too large together"
	}
	return " in time"
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
