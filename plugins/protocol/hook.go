package protocol

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// Capabilities are what a plugin does next to its tools and namespaces.
type Capabilities struct {
	// BeforeToolCall and AfterToolCall say which hooks the plugin has.
	BeforeToolCall, AfterToolCall bool
	// HookTools are patterns of the tools whose calls the hooks want to see. An
	// empty list stands for the plugin's own tools.
	HookTools []string
}

// Hooks reports whether the plugin has any hook.
func (c Capabilities) Hooks() bool { return c.BeforeToolCall || c.AfterToolCall }

// ToolCall is a tool call as hooks see it.
type ToolCall struct {
	// Kind is "tool", or "code_mode_exec" for the program itself, whose language
	// InputKind says.
	Kind, InputKind string
	// ToolID is "<source>:<owner>:<name>".
	ToolID, Source, Owner, ToolName string
	// Via is the namespace path the program used; empty without one.
	Via      string
	ReadOnly bool
	// Params is a JSON object.
	Params json.RawMessage
	// Run is the run the call is made by; CallID names the call within it.
	Run    RunContext
	CallID string
}

// HookVerdict is what a before-hook says of a call.
type HookVerdict struct {
	// Params replaces the parameters unless it is nil.
	Params json.RawMessage
	// Block refuses the call, Reason says why.
	Block    bool
	Reason   string
	Approval *ApprovalRequest
}

// ApprovalRequest makes a call wait for a person. Zero values are the host's
// defaults.
type ApprovalRequest struct {
	Title, Description string
	Severity           string // info, warning or critical
	Timeout            time.Duration
	Allowed            []string // allow-once, allow-always, deny
	Subject            string   // narrows what allow-always is remembered for
}

// CallOutcome is how a call ended.
type CallOutcome struct {
	Status        string          // ok, error or unknown
	Value         json.RawMessage // when ok
	Message, Code string          // otherwise
	Duration      time.Duration
}

// HookService is what a [Service] with hooks implements next to it.
type HookService interface {
	// BeforeToolCall judges a call before it is made. An error blocks it.
	BeforeToolCall(ctx context.Context, c ToolCall) (HookVerdict, error)
	// AfterToolCall returns nil, or the value to use in place of the call's. An
	// error withholds the result.
	AfterToolCall(ctx context.Context, c ToolCall, o CallOutcome) (json.RawMessage, error)
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

var errNoHooks = NewError(KindInput, CodeUnknownHook, "the plugin has no hooks")
