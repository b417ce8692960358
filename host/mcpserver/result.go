package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/text"
)

// MetaTelemetry is the key of a result's _meta under which its telemetry stands.
const MetaTelemetry = "io.github.quoinhq/telemetry"

// programResult is a Result of a program as the result of a tool call. Waiting are the
// approvals that its run waits for.
func programResult(r *host.Result, waiting []*policy.Approval) (*mcp.CallToolResult, error) {
	b, err := modeltools.RenderResult(r, whatPeopleDo(waiting))
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Meta:              mcp.Meta{MetaTelemetry: r.Telemetry},
		Content:           []mcp.Content{&mcp.TextContent{Text: string(b)}},
		StructuredContent: b,
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

// directResult is the Result of a program with a single call as the result of that call.
func directResult(r *host.Result, waiting []*policy.Approval) (*mcp.CallToolResult, error) {
	if r.Status == host.StatusWaiting {
		res, err := programResult(r, waiting)
		if err == nil {
			res.IsError, res.StructuredContent = true, nil // it is no result of the tool
		}
		return res, err
	}
	res := &mcp.CallToolResult{Meta: mcp.Meta{MetaTelemetry: r.Telemetry}}
	if r.Status == host.StatusFailed {
		res.Content, res.IsError = []mcp.Content{&mcp.TextContent{Text: r.Error}}, true
		return res, nil
	}
	if blocks := contentBlocks(r.Value); blocks != nil {
		blocks.Meta = mcp.Meta{MetaTelemetry: r.Telemetry}
		return blocks, nil
	}
	var text string
	if json.Unmarshal(r.Value, &text) != nil {
		text = string(r.Value)
	}
	res.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	return res, nil
}

// contentBlocks reads the value of a tool that is the result of an MCP tool, or made like
// one: an object with a list of content blocks. It returns nil for any other.
func contentBlocks(value json.RawMessage) *mcp.CallToolResult {
	var shape struct {
		Content []struct {
			Type string `json:"type"`
		} `json:"content"`
	}
	if json.Unmarshal(value, &shape) != nil || shape.Content == nil {
		return nil
	}
	for _, c := range shape.Content {
		if !slices.Contains([]string{"text", "image", "audio", "resource", "resource_link"}, c.Type) {
			return nil
		}
	}
	var full struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent,omitempty"`
		IsError    bool            `json:"isError,omitempty"`
	}
	if json.Unmarshal(value, &full) != nil {
		return nil
	}
	// What else a result may have asks the client for something.
	clean, err := json.Marshal(full)
	if err != nil {
		return nil
	}
	var res mcp.CallToolResult
	if json.Unmarshal(clean, &res) != nil {
		return nil
	}
	return &res
}
