package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// BeforeToolCall makes f the plugin's before-hook. A plugin has at most one. Tools
// are patterns of tools; f wants to see their calls: "issues_*" names tools,
// "quoin:issues:*" and "owner:issues" the tools of an owner. A host shows f the
// calls of the plugin's own tools, and others if its operator allows it. Without
// patterns f sees the calls of its own tools. It panics on a second hook, which is
// a programmer's mistake.
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
