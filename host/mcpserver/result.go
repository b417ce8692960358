package mcpserver

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// MetaTelemetry is the key of a result's _meta under which its telemetry stands.
const MetaTelemetry = "io.github.quoinhq/telemetry"

// modelResult is a Result as a model gets it: without telemetry and empty lists.
type modelResult struct {
	Status host.Status `json:"status"`

	Value json.RawMessage `json:"value,omitempty"`

	RunID   string             `json:"runId,omitempty"`
	Reason  host.Reason        `json:"reason,omitempty"`
	Pending []host.PendingCall `json:"pendingToolCalls,omitempty"`

	Error      string     `json:"error,omitempty"`
	Code       host.Code  `json:"code,omitempty"`
	Phase      host.Phase `json:"phase,omitempty"`
	Dispatched bool       `json:"dispatched,omitempty"`

	Output []host.Output `json:"output,omitempty"`
}

// resultSchema is the output schema of exec and wait. It has no unions: clients and
// providers differ in which of them they take.
var resultSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"status":{"type":"string","enum":["completed","waiting","failed"]},` +
	`"value":{"description":"completed: what the program returned"},` +
	`"output":{"type":"array","items":{"type":"object"},"description":"what the program emitted since the last result"},` +
	`"runId":{"type":"string","description":"waiting: give it to wait"},` +
	`"reason":{"type":"string"},` +
	`"pendingToolCalls":{"type":"array","items":{"type":"object"}},` +
	`"error":{"type":"string","description":"failed: what went wrong"},` +
	`"code":{"type":"string"},` +
	`"phase":{"type":"string"},` +
	`"dispatched":{"type":"boolean","description":"failed: a tool had been called, so a repetition may repeat its effect"}` +
	`},"required":["status"]}`)

// answer is a Result as the result of a tool call.
func (s *Server) answer(r *host.Result) (*mcp.CallToolResult, error) {
	m := modelResult{
		Status: r.Status, Value: r.Value, RunID: r.RunID, Reason: r.Reason, Pending: r.PendingToolCalls,
		Error: r.Error, Code: r.Code, Phase: r.Phase, Dispatched: r.Dispatched, Output: r.Output,
	}
	b, err := jsontext.Marshal(m)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Meta:              mcp.Meta{MetaTelemetry: r.Telemetry},
		Content:           []mcp.Content{&mcp.TextContent{Text: string(b)}},
		StructuredContent: json.RawMessage(b),
		IsError:           r.Status == host.StatusFailed,
	}, nil
}
