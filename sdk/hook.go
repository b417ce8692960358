package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// ToolCall is a tool call as hooks see it. It may be a call of another plugin's tool,
// and what it holds then belongs to that plugin.
type ToolCall = protocol.ToolCall

// CallOutcome is how a tool call ended.
type CallOutcome = protocol.CallOutcome

// Verdict is what a before-hook says of a call. The zero value has no objection.
type Verdict struct {
	// Params replaces the input: any value with the JSON form of an object that
	// fits the tool. Nil leaves it.
	Params any
	// Block refuses the call. Reason says why, to the model.
	Block  bool
	Reason string
	// Approval makes the call wait for a person.
	Approval *Approval
}

// Approval asks that a person decides about a call. Zero values are the host's
// defaults.
type Approval struct {
	// Title says in a few words what is asked, Description what would happen.
	Title, Description string
	// Severity is "info", "warning" or "critical".
	Severity string
	// Timeout is how long a person has. No decision in time denies.
	Timeout time.Duration
	// Allowed are the decisions to choose from: "allow-once", "allow-always" and
	// "deny", which is always among them.
	Allowed []string
	// Subject narrows what allow-always is remembered for.
	Subject string
}

// BeforeFunc judges a call before it is made. The input's keys are as the program
// wrote them. If the verdict depends on one, decode into a
// map[string]json.RawMessage: into a struct, encoding/json takes "CMD" for "cmd".
// An error, a panic, or no answer in time blocks the call.
type BeforeFunc func(ctx context.Context, c *ToolCall) (Verdict, error)

// AfterFunc sees how a call ended. It returns nil, or the value to use in place of
// the call's; a failure cannot be turned into a success. An error withholds the
// result.
type AfterFunc func(ctx context.Context, c *ToolCall, o CallOutcome) (any, error)

// BeforeToolCall makes f the plugin's before-hook. A plugin has at most one. Tools
// are patterns of the tools whose calls f wants to see: "issues_*" names tools,
// "quoin:issues:*" and "owner:issues" those of an owner. A host shows f the calls
// of the plugin's own tools, and others if its operator allows it. Without
// patterns f sees those of its own tools. It panics on a second hook, which is a
// programmer's mistake.
func (p *Plugin) BeforeToolCall(f BeforeFunc, tools ...string) {
	if p.before != nil {
		misuse(fmt.Errorf("plugin %s has a hook before tool calls already", p.info.ID))
	}
	p.before = f
	p.hookTools = append(p.hookTools, tools...)
}

// AfterToolCall makes f the plugin's after-hook, as [Plugin.BeforeToolCall] does.
// Both hooks see the calls of the tools that either has named.
func (p *Plugin) AfterToolCall(f AfterFunc, tools ...string) {
	if p.after != nil {
		misuse(fmt.Errorf("plugin %s has a hook after tool calls already", p.info.ID))
	}
	p.after = f
	p.hookTools = append(p.hookTools, tools...)
}

// capabilities are what the plugin says of its hooks.
func (p *Plugin) capabilities() protocol.Capabilities {
	return protocol.Capabilities{BeforeToolCall: p.before != nil, AfterToolCall: p.after != nil, HookTools: p.hookTools}
}

var _ protocol.HookService = (*service)(nil)

// BeforeToolCall implements protocol.HookService.
func (s *service) BeforeToolCall(ctx context.Context, c protocol.ToolCall) (v protocol.HookVerdict, err error) {
	defer s.recovered("the hook before "+c.ToolName, &err)
	if s.p.before == nil {
		return v, s.noHook("before")
	}
	own, err := s.p.before(ctx, &c)
	if err != nil {
		return v, hookFailure(ctx, "before", &c, err)
	}
	v = protocol.HookVerdict{Block: own.Block, Reason: own.Reason}
	if own.Approval != nil {
		a := protocol.ApprovalRequest(*own.Approval)
		v.Approval = &a
	}
	if own.Params != nil {
		if v.Params, err = json.Marshal(own.Params); err != nil {
			return v, protocol.NewError(protocol.KindPlugin, protocol.CodeInvalidOutput, "the hook before %s rewrote the input into something without a JSON form: %v", c.ToolName, err)
		}
	}
	return v, nil
}

// AfterToolCall implements protocol.HookService.
func (s *service) AfterToolCall(ctx context.Context, c protocol.ToolCall, o protocol.CallOutcome) (value json.RawMessage, err error) {
	defer s.recovered("the hook after "+c.ToolName, &err)
	if s.p.after == nil {
		return nil, s.noHook("after")
	}
	own, err := s.p.after(ctx, &c, o)
	if err != nil {
		return nil, hookFailure(ctx, "after", &c, err)
	}
	if raw, ok := own.(json.RawMessage); own == nil || ok && raw == nil {
		return nil, nil
	}
	if value, err = json.Marshal(own); err != nil {
		return nil, protocol.NewError(protocol.KindPlugin, protocol.CodeInvalidOutput, "the hook after %s gave a value without a JSON form: %v", c.ToolName, err)
	}
	return value, nil
}

func (s *service) noHook(when string) error {
	return protocol.NewError(protocol.KindInput, protocol.CodeUnknownHook, "plugin %s has no hook %s tool calls", s.p.info.ID, when)
}

// hookFailure is the error of a hook as the protocol carries it.
func hookFailure(ctx context.Context, when string, c *ToolCall, err error) *protocol.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) {
		return protocol.NewError(protocol.KindTimeout, protocol.CodeTimeout, "the hook %s %s ran out of time", when, c.ToolName)
	}
	e := *toolFailure(err)
	e.Message = fmt.Sprintf("the hook %s %s failed: %s", when, c.ToolName, e.Message)
	return &e
}
