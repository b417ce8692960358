package protocol

import (
	"context"
	"encoding/json"
	"fmt"
)

// RunContext names the run a call belongs to. What tells sessions apart is
// [RunContext.Identity], and no single field.
type RunContext struct {
	AgentID    string `json:"agentId"`
	SessionKey string `json:"sessionKey"`
	SessionID  string `json:"sessionId"`
	// RunID is the run of code mode. TurnID is the agent's turn that it belongs to; empty
	// if the gateway does not name a turn, or the host is older than the field.
	RunID  string          `json:"runId"`
	TurnID string          `json:"turnId,omitempty"`
	Config json.RawMessage `json:"config,omitempty"`
}

// Identity is a text that all turns of a session share, and no other session has; "" for a
// caller that names neither an agent nor a session. A plugin that keeps something for a
// session keeps it under this: a caller may be known by any one of the fields.
func (r RunContext) Identity() string {
	if r.AgentID == "" && r.SessionKey == "" && r.SessionID == "" {
		return ""
	}
	return fmt.Sprintf("%q %q %q", r.AgentID, r.SessionKey, r.SessionID)
}

// Configuration is what the host gives a plugin before the first call.
type Configuration struct {
	// DataDir is a folder of the plugin's own; it exists and is writable.
	DataDir string
	// JSON is the plugin's section of the host configuration; nil when it
	// has no section.
	JSON json.RawMessage
	// Secrets are the plugin's secrets by name. Since version 2.
	Secrets map[string]string
	// Protocol is the version both sides speak. A plugin reads 1 where a host of
	// version 1 has said nothing.
	Protocol int
}

// CallRequest asks for one tool call.
type CallRequest struct {
	Tool string
	// CallID is unique within the run.
	CallID string
	// IdempotencyKey is equal for attempts that must take effect once.
	IdempotencyKey string
	// Epoch is higher in each host that takes the run over; 0 in a run that was never
	// suspended. A service may refuse a call of a lower epoch than it has seen of the run.
	Epoch uint64
	Run   RunContext
	// Input is a JSON object.
	Input json.RawMessage
	// Approval is what allowed the call, if the plugin's own hook asked for one.
	Approval *CallApproval
	// RevertBy takes how the call is undone, before CallTool returns without an error.
	// A service may call it for a tool that is Revertible. A client that leaves it nil is
	// not told.
	RevertBy func(Inverse)
}

// Inverse says how a call is undone: by a call of Tool, of the same plugin, or not at
// all.
type Inverse struct {
	// Tool should be Idempotent. Input is a JSON object of at most 64 KiB.
	Tool  string
	Input json.RawMessage
	// Impossible says why the call cannot be undone. Then there is no Tool.
	Impossible string
}

// CallApproval is the decision of a person that a call is made by.
type CallApproval struct {
	// ID is the id of the approval that a person decided, for this call or,
	// with allow-always, for an earlier one.
	ID string
	// Subject is what the plugin's hook asked about: [ApprovalRequest.Subject].
	Subject string
	// Edited reports that a person has written the input.
	Edited bool
	// Remembered reports that no person has seen this call: a decision for always about
	// an earlier one with the same subject answers for it.
	Remembered bool
}

// HealthStatus is a plugin's answer to Health.
type HealthStatus struct {
	// RunningCalls counts the tool calls that have not ended.
	RunningCalls int
}

// Service is the plugin's side of the protocol. All methods may be called at
// the same time. An error that is not an *[Error] is sent as KindTool with
// CodeToolError and its text.
type Service interface {
	Describe(ctx context.Context) (*Description, error)
	Configure(ctx context.Context, c Configuration) error
	// CreateScope returns the tagged JSON tree of a namespace's scope.
	CreateScope(ctx context.Context, namespace string, run RunContext) (json.RawMessage, error)
	MapInput(ctx context.Context, namespace string, run RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error)
	// CallTool may call progress any number of times, from one goroutine at a
	// time, before it returns.
	CallTool(ctx context.Context, req CallRequest, progress func(json.RawMessage) error) (json.RawMessage, error)
	Health(ctx context.Context) (HealthStatus, error)
	// Drain returns the number of calls still running when ctx ended.
	Drain(ctx context.Context) (running int, err error)
}
