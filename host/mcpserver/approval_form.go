package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/terminal"
)

// elicitation says what a client can be asked: which ways to ask it offers, and whether
// its user may decide about calls.
type elicitation struct{ form, url, decide bool }

// elicitationOf reads the capabilities of a client. One that offers elicitation and
// says not how takes forms.
func (s *Server) elicitationOf(c *mcp.ClientCapabilities) elicitation {
	if c == nil || c.Elicitation == nil {
		return elicitation{}
	}
	e := c.Elicitation
	return elicitation{form: e.Form != nil || e.URL == nil, url: e.URL != nil, decide: !s.options.OthersDecide}
}

func (e elicitation) any() bool { return e.form || e.url }

// inputRequests are what a client is to ask a person about an approval, by the key under
// which the answer comes. They are nil if the client cannot ask all of it.
func inputRequests(a *policy.Approval, can elicitation) map[string]*mcp.ElicitParams {
	if len(a.Questions) == 0 {
		if !can.form || !can.decide {
			return nil
		}
		return map[string]*mcp.ElicitParams{a.ID: approvalForm(a)}
	}
	out := make(map[string]*mcp.ElicitParams, len(a.Questions))
	for i, q := range a.Questions {
		switch {
		case q.Kind == codemode.QuestionForm && can.form:
			out[questionKey(a, i)] = &mcp.ElicitParams{Mode: "form", Message: questionMessage(a, q), RequestedSchema: q.Schema}
		case q.Kind != codemode.QuestionForm && q.URL != "" && can.url:
			out[questionKey(a, i)] = &mcp.ElicitParams{Mode: "url", Message: questionMessage(a, q), URL: q.URL, ElicitationID: questionKey(a, i)}
		default:
			return nil
		}
	}
	return out
}

// questionKey is the key of the request for an answer to a question.
func questionKey(a *policy.Approval, i int) string { return fmt.Sprintf("%s.%d", a.ID, i) }

// questionMessage is a question of a tool as a person reads it. The texts are the tool's.
func questionMessage(a *policy.Approval, q codemode.Question) string {
	return terminal.Text(fmt.Sprintf("%s asks, in the middle of a call of %s: %s", cmp.Or(terminal.Line(q.From), "A tool"), terminal.Line(a.ToolID), q.Message))
}

// The fields of the form that asks for a decision.
const (
	fieldDecision = "decision"
	fieldInput    = "input"
)

// approvalForm asks for a decision about a call. Nothing is chosen beforehand.
func approvalForm(a *policy.Approval) *mcp.ElicitParams {
	type field struct {
		Type        string            `json:"type"`
		Title       string            `json:"title"`
		Description string            `json:"description,omitempty"`
		Enum        []policy.Decision `json:"enum,omitempty"`
	}
	decision := field{Type: "string", Title: "Decision", Enum: a.Allowed}
	if a.AlwaysCovers != "" && slices.Contains(a.Allowed, policy.AllowAlways) {
		decision.Description = "allow-always covers: " + terminal.Line(a.AlwaysCovers)
	}
	fields := map[string]field{fieldDecision: decision}
	if len(a.InputSchema) > 0 && slices.Contains(a.Allowed, policy.AllowOnce) {
		fields[fieldInput] = field{Type: "string", Title: "Edited input",
			Description: "JSON to make the call with in place of the input shown, with allow-once. Leave it empty to keep the input."}
	}
	schema, err := jsontext.Marshal(map[string]any{"type": "object", "properties": fields, "required": []string{fieldDecision}})
	if err != nil {
		panic("mcpserver: strings cannot be encoded: " + err.Error()) // they always can
	}
	return &mcp.ElicitParams{Mode: "form", Message: approvalMessage(a), RequestedSchema: json.RawMessage(schema)}
}

// approvalMessage shows a person the very call that is asked about, and who asks.
// Characters that would hide something are shown as escapes.
func approvalMessage(a *policy.Approval) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + terminal.Line(value) + "\n")
		}
	}
	b.WriteString(terminal.Line(a.Title) + "\n")
	for text := range strings.SplitSeq(a.Description, "\n") { // as it is: a command must not look like another
		b.WriteString("  " + terminal.Text(text) + "\n")
	}
	line("Severity", string(a.Severity))
	line("Tool", a.ToolID)
	line("Called as", a.Via)
	for _, ask := range a.Asked {
		line("Asked by", strings.TrimSpace(ask.Hook+" "+ask.Subject))
	}
	line("Agent", a.Session.AgentID)
	line("Run", a.RunID)
	line("Expires", a.Expires.UTC().Format("2006-01-02 15:04:05 MST"))
	b.WriteString(fmt.Sprintf("Input (%d bytes, SHA-256 %s):\n", a.InputBytes, a.InputSHA256))
	if a.InputCut {
		b.WriteString("ONLY THE START of the input is shown, as a text.\n")
	}
	for text := range strings.Lines(indented(a.Input)) {
		b.WriteString(terminal.Line(strings.TrimSuffix(text, "\n")) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// indented returns JSON on several lines, or the bytes as they are if they are not JSON.
func indented(doc json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		return string(doc)
	}
	return b.String()
}

// decisionOf reads what a person has entered into the form of an approval.
func decisionOf(r *mcp.ElicitResult) (d policy.Decision, input json.RawMessage, err error) {
	if r.Action == string(codemode.AnswerDecline) {
		return policy.Deny, nil, nil
	}
	word, ok := r.Content[fieldDecision].(string)
	if !ok {
		return "", nil, fmt.Errorf("%w: the field decision is missing", policy.ErrInvalidAnswer)
	}
	d = policy.Decision(word)
	edited, isText := r.Content[fieldInput].(string)
	switch value := r.Content[fieldInput]; {
	case value == nil, isText && strings.TrimSpace(edited) == "":
		return d, nil, nil
	case d != policy.AllowOnce:
		return "", nil, fmt.Errorf("%w: an edited input goes with the decision allow-once, not %s", policy.ErrInvalidAnswer, terminal.Short(word))
	case isText:
		input = json.RawMessage(edited)
	default: // a client may send the object itself
		if input, err = jsontext.Marshal(value); err != nil {
			return "", nil, err
		}
	}
	if !json.Valid(input) {
		return "", nil, fmt.Errorf("%w: the edited input is not JSON", policy.ErrInvalidAnswer)
	}
	return d, input, nil
}

// answerOf is the answer to a question of a tool.
func answerOf(r *mcp.ElicitResult) (codemode.QuestionAnswer, error) {
	a := codemode.QuestionAnswer{Action: codemode.AnswerAction(r.Action)}
	if a.Action != codemode.AnswerAccept || r.Content == nil {
		return a, nil
	}
	content, err := jsontext.Marshal(r.Content)
	a.Content = content
	return a, err
}
