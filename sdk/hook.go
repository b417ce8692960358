package sdk

import (
	"context"
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
