package mcpserver

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/text"
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
	// WaitingFor says what people are asked, and where they answer.
	WaitingFor []string `json:"waitingFor,omitempty"`

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
	`"waitingFor":{"type":"array","items":{"type":"string"},"description":"waiting: what a person has to do before wait gets further; tell the user"},` +
	`"pendingToolCalls":{"type":"array","items":{"type":"object"}},` +
	`"error":{"type":"string","description":"failed: what went wrong"},` +
	`"code":{"type":"string"},` +
	`"phase":{"type":"string"},` +
	`"dispatched":{"type":"boolean","description":"failed: a tool had been called, so a repetition may repeat its effect"}` +
	`},"required":["status"]}`)

// programResult is a Result of a program as the result of a tool call. Waiting are the
// approvals that its run waits for.
func programResult(r *host.Result, waiting []*policy.Approval) (*mcp.CallToolResult, error) {
	m := modelResult{
		Status: r.Status, Value: r.Value, RunID: r.RunID, Reason: r.Reason, Pending: r.PendingToolCalls,
		Error: r.Error, Code: r.Code, Phase: r.Phase, Dispatched: r.Dispatched, Output: r.Output,
		WaitingFor: whatPeopleDo(waiting),
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

// Limits of what a model is told of the questions that people are asked.
const (
	maxTold     = 5   // questions
	maxToldText = 300 // bytes of one text of a stranger
)

// whatPeopleDo tells a model what its user can do about what a run waits for.
func whatPeopleDo(waiting []*policy.Approval) []string {
	var out []string
	for _, a := range waiting[:min(len(waiting), maxTold)] {
		if len(a.Questions) == 0 {
			out = append(out, fmt.Sprintf("A person has to decide about a call of %s (%s): quoin approvals show %s, then quoin approvals allow %s or quoin approvals deny %s",
				told(a.ToolID), told(a.Title), a.ID, a.ID, a.ID))
			continue
		}
		for _, q := range a.Questions {
			out = append(out, questionTold(a, q))
		}
	}
	if len(waiting) > maxTold {
		out = append(out, fmt.Sprintf("%d more: quoin approvals list", len(waiting)-maxTold))
	}
	return out
}

// questionTold says what a person has to do about a question of a tool.
func questionTold(a *policy.Approval, q codemode.Question) string {
	switch {
	case q.Kind == codemode.QuestionAuthorization && q.URL != "":
		return fmt.Sprintf("A person has to sign in to %s: open %s, or run quoin mcp login %s", told(q.From), q.URL, told(q.From))
	case q.Kind == codemode.QuestionAuthorization:
		return fmt.Sprintf("A person has to sign in to %s: run quoin mcp login %s", told(q.From), told(q.From))
	case q.Kind == codemode.QuestionURL:
		return fmt.Sprintf("%s asks a person to open %s (%s), then: quoin approvals answer %s", told(q.From), q.URL, told(q.Message), a.ID)
	}
	return fmt.Sprintf("%s asks a person (%s): quoin approvals answer %s", told(q.From), told(q.Message), a.ID)
}

// told is a text of a stranger on one line.
func told(s string) string { return terminal.Line(text.Shorten(s, maxToldText)) }
