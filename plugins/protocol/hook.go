package protocol

import (
	"context"
	"encoding/json"
	"time"
)

// Capabilities are what a plugin does next to its tools and namespaces.
type Capabilities struct {
	// BeforeToolCall and AfterToolCall say which hooks the plugin has.
	BeforeToolCall, AfterToolCall bool
	// HookTools are patterns of tools. The hooks want to see the calls of these
	// tools. An empty list stands for the plugin's own tools.
	HookTools []string
}

// Hooks reports whether the plugin has any hook.
func (c Capabilities) Hooks() bool { return c.BeforeToolCall || c.AfterToolCall }

// ToolCall is a tool call as hooks see it.
type ToolCall struct {
	// Kind is "tool", or "code_mode_exec" for the program itself. InputKind is
	// the program's language.
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
