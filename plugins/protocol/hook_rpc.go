package protocol

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// AfterToolCall tells the plugin's hook how a call ended. It returns nil, or the
// value to use instead.
func (c *Client) AfterToolCall(ctx context.Context, call ToolCall, o CallOutcome) (json.RawMessage, error) {
	if err := checkSize("the call of "+call.ToolName+" and its result", len(call.Params)+len(call.Run.Config)+len(o.Value)); err != nil {
		return nil, err
	}
	r, err := c.rpc.AfterToolCall(ctx, &protocolpb.AfterToolCallRequest{
		Call: toolCallToWire(call), Status: o.Status, Value: o.Value,
		Message: validText(o.Message), Code: validText(o.Code), DurationUs: o.Duration.Microseconds(),
	})
	if err != nil {
		return nil, transportError(ctx, err)
	}
	if err := reported(r.GetError()); err != nil {
		return nil, err
	}
	v, e := checkedJSON(r.GetValue(), "the value that replaces that of "+call.ToolName)
	if e != nil {
		return nil, e
	}
	return v, nil
}

// BeforeToolCall asks the plugin's hook about a call.
func (c *Client) BeforeToolCall(ctx context.Context, call ToolCall) (HookVerdict, error) {
	if err := checkSize("the input of "+call.ToolName, len(call.Params)+len(call.Run.Config)); err != nil {
		return HookVerdict{}, err
	}
	r, err := c.rpc.BeforeToolCall(ctx, &protocolpb.BeforeToolCallRequest{Call: toolCallToWire(call)})
	if err != nil {
		return HookVerdict{}, transportError(ctx, err)
	}
	if err := reported(r.GetError()); err != nil {
		return HookVerdict{}, err
	}
	v, e := verdictFromWire(r)
	if e != nil {
		return HookVerdict{}, e
	}
	return v, nil
}

func (s *server) AfterToolCall(ctx context.Context, r *protocolpb.AfterToolCallRequest) (*protocolpb.AfterToolCallResponse, error) {
	hooks, ok := s.service.(HookService)
	if !ok {
		return &protocolpb.AfterToolCallResponse{Error: errorToWire(errNoHooks)}, nil
	}
	v, err := hooks.AfterToolCall(ctx, toolCallFromWire(r.GetCall()), CallOutcome{
		Status: r.GetStatus(), Value: nilIfEmpty(r.GetValue()), Message: r.GetMessage(), Code: r.GetCode(),
		Duration: time.Duration(r.GetDurationUs()) * time.Microsecond,
	})
	if err == nil {
		err = checkSize("the value of the hook", len(v))
	}
	if err != nil {
		return &protocolpb.AfterToolCallResponse{Error: errorToWire(err)}, nil
	}
	return &protocolpb.AfterToolCallResponse{Value: v}, nil
}

func (s *server) BeforeToolCall(ctx context.Context, r *protocolpb.BeforeToolCallRequest) (*protocolpb.BeforeToolCallResponse, error) {
	hooks, ok := s.service.(HookService)
	if !ok {
		return &protocolpb.BeforeToolCallResponse{Error: errorToWire(errNoHooks)}, nil
	}
	v, err := hooks.BeforeToolCall(ctx, toolCallFromWire(r.GetCall()))
	if err == nil {
		err = checkSize("the verdict of the hook", len(v.Params))
	}
	if err != nil {
		return &protocolpb.BeforeToolCallResponse{Error: errorToWire(err)}, nil
	}
	return verdictToWire(v), nil
}

var errNoHooks = NewError(KindInput, CodeUnknownHook, "the plugin has no hooks")
