package policy

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Remote asks the hooks of a plugin, as protocol.Client and plugins.Process do.
type Remote interface {
	BeforeToolCall(ctx context.Context, c protocol.ToolCall) (protocol.HookVerdict, error)
	AfterToolCall(ctx context.Context, c protocol.ToolCall, o protocol.CallOutcome) (json.RawMessage, error)
}

// RemoteHook is the hook of a plugin. What it answers is checked like the answer
// of any other; what it is shown is up to the caller, who may narrow Tools.
func RemoteHook(name string, has protocol.Capabilities, r Remote) Hook {
	h := Hook{Name: name, Tools: has.HookTools}
	if has.BeforeToolCall {
		h.Before = func(ctx context.Context, c *Call) (Verdict, error) {
			v, err := r.BeforeToolCall(ctx, c.remote())
			return ofRemote(v), err
		}
	}
	if has.AfterToolCall {
		h.After = func(ctx context.Context, c *Call, o Outcome) (json.RawMessage, error) {
			return r.AfterToolCall(ctx, c.remote(), protocol.CallOutcome{
				Status: string(o.Status), Value: o.Value, Message: o.Message, Code: o.Code, Duration: o.Duration,
			})
		}
	}
	return h
}

// remote returns what a plugin's hook is told of a call.
func (c *Call) remote() protocol.ToolCall {
	return protocol.ToolCall{
		Kind: string(c.Kind), InputKind: string(c.InputKind),
		ToolID: c.ToolID, Source: c.Source, Owner: c.Owner, ToolName: c.ToolName, Via: c.Via, ReadOnly: c.ReadOnly, Params: c.Params,
		Run:    protocol.RunContext{AgentID: c.Session.AgentID, SessionKey: c.Session.SessionKey, SessionID: c.Session.SessionID, RunID: c.RunID, TurnID: c.Session.TurnID},
		CallID: c.CallID,
	}
}

// ofRemote translates the verdict of a plugin's hook. Chain checks it like any
// other.
func ofRemote(v protocol.HookVerdict) Verdict {
	out := Verdict{Params: v.Params, Block: v.Block, Reason: v.Reason}
	if a := v.Approval; a != nil {
		out.Approval = &ApprovalRequest{Title: a.Title, Description: a.Description, Severity: Severity(a.Severity), Timeout: a.Timeout, Subject: a.Subject}
		for _, d := range a.Allowed {
			out.Approval.Allowed = append(out.Approval.Allowed, Decision(d))
		}
	}
	return out
}
