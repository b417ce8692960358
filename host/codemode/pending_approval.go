package codemode

import (
	"encoding/json"
	"time"
)

// PendingApproval is what a waiting run asks a person about one of its calls: to decide
// whether the call may be made, or to answer what its tool asks, such as the elicitation
// or the sign-in of an MCP server. Its texts come from models and tools and are hostile.
type PendingApproval struct {
	// ID names the approval for host.Approvals.Decide and host.Approvals.Answer.
	ID string
	// CallID is the id of the PendingCall that waits, ToolID the id of its tool.
	CallID, ToolID string
	// Title, Description and Severity (info, warning or critical) are for the person.
	Title, Description, Severity string
	// Input is what the call would be made with. One of more than 64 KiB is a JSON string
	// that holds its start, and InputCut is set.
	Input    json.RawMessage
	InputCut bool
	// Allowed are the decisions to choose from: allow-once, allow-always and deny. It is
	// empty where Questions are asked.
	Allowed []string
	// Questions are the tool's questions. Each wants an answer.
	Questions []Question
	// Expires is when the call is denied without an answer.
	Expires time.Time
}
