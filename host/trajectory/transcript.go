package trajectory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// Shape is a way to write a conversation with tool calls.
type Shape string

// The shapes of a transcript.
const (
	ShapeOpenAI    Shape = "openai"    // messages with tool_calls and of the role tool
	ShapeAnthropic Shape = "anthropic" // messages with blocks tool_use and tool_result
)

// Projected is what a transcript adds to every call, under the key "quoin": where it
// belongs and what is known of it.
type Projected struct {
	RunID string `json:"runId"`
	// ParentCallID is, of a nested call, the id in this transcript of the exec or
	// wait in which it started.
	ParentCallID string `json:"parentCallId,omitempty"`
	// ExecCallID is the id in this transcript of the exec that started the run.
	ExecCallID   string  `json:"execCallId,omitempty"`
	CallID       string  `json:"callId,omitempty"` // of a nested call, within its run
	ToolID       string  `json:"toolId,omitempty"`
	Owner        string  `json:"owner,omitempty"`
	Via          string  `json:"via,omitempty"`
	StartMs      float64 `json:"startMs"` // from the start of the run
	DurationMs   float64 `json:"durationMs"`
	Outcome      string  `json:"outcome"` // of exec and wait: the status
	Code         string  `json:"code,omitempty"`
	EffectStatus string  `json:"effectStatus,omitempty"`
	Rewritten    bool    `json:"rewritten,omitempty"` // hooks have changed the input
	InputBytes   int     `json:"inputBytes,omitempty"`
	OutputBytes  int     `json:"outputBytes,omitempty"`
}

// projection is one call of a transcript.
type projection struct {
	id, name string
	input    json.RawMessage // an object
	content  string
	failed   bool
	Projected
}

// Transcript renders the run as messages of a conversation: for each exec and wait
// one of the assistant with that call and, as ordinary tool calls next to it, those
// that its program made, and then their results. Inputs and results that were not
// recorded are an empty object and a note of their size.
//
// Ids and names fit what the provider takes; Projected carries the real ones.
func (r *Run) Transcript(shape Shape) ([]json.RawMessage, error) {
	var write func([]projection) []any
	switch shape {
	case ShapeOpenAI:
		write = openAI
	case ShapeAnthropic:
		write = anthropic
	default:
		return nil, fmt.Errorf("transcript shape %q: expected %q or %q", printable(string(shape)), ShapeOpenAI, ShapeAnthropic)
	}
	out := []json.RawMessage{}
	for _, calls := range r.project() {
		for _, message := range write(calls) {
			b, err := jsontext.Marshal(message)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
	}
	return out, nil
}

// project lists the calls of each exec and wait, itself first.
func (r *Run) project() [][]projection {
	var out [][]projection
	exec := ""
	segments := r.Segments()
	for i, l := range segments {
		start := segments[0].Start
		parent := projection{
			id: l.CallID, name: l.Tool, failed: l.Status == "failed",
			input:   object(l.Input),
			content: result(l.Output, l.OutputBytes, cmp.Or(l.Status, "running"), l.Code),
			Projected: Projected{
				RunID: r.ID, StartMs: ms(l.Start.Sub(start).Microseconds()), DurationMs: ms(l.Duration.Microseconds()),
				Outcome: cmp.Or(l.Status, "running"), Code: l.Code, InputBytes: l.InputBytes, OutputBytes: l.OutputBytes, Rewritten: l.Rewritten,
			},
		}
		if parent.id == "" {
			parent.id = fmt.Sprintf("%s_%s_%d", idOf(r.ID), l.Tool, i+1)
		}
		if l.Tool == "wait" {
			if b, err := jsontext.Marshal(map[string]string{"runId": r.ID}); err == nil {
				parent.input = b
			}
		}
		calls := []projection{parent}
		for _, c := range l.Calls {
			p := r.nested(c, parent.id)
			p.ExecCallID = cmp.Or(exec, parent.id)
			p.StartMs = ms(c.Start.Sub(start).Microseconds())
			calls = append(calls, p)
		}
		if i == 0 {
			exec = parent.id
		}
		out = append(out, calls)
	}
	return out
}

func (r *Run) nested(c Call, parent string) projection {
	p := projection{
		id: idOf(r.ID + "_" + c.CallID), name: nameOf(cmp.Or(c.ToolName, c.Method)),
		input: object(c.Input),
		Projected: Projected{
			RunID: r.ID, ParentCallID: parent, CallID: c.CallID, ToolID: c.ToolID, Owner: c.Owner, Via: c.Via,
			DurationMs: ms(c.Duration.Microseconds()), Outcome: "running", InputBytes: c.InputBytes, Rewritten: c.Rewritten,
		},
	}
	if !c.Ended {
		if c.Waiting {
			p.Outcome = "waiting"
		}
		p.content, p.DurationMs = result(nil, 0, p.Outcome, ""), 0
		return p
	}
	p.Outcome, p.Code, p.EffectStatus, p.OutputBytes = string(c.Outcome), c.Code, c.EffectStatus, c.OutputBytes
	p.failed = c.Outcome != OutcomeOK
	p.content = result(c.Output, c.OutputBytes, string(c.Outcome), c.Code)
	return p
}

// openAI writes the calls of one exec or wait.
func openAI(calls []projection) []any {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type call struct {
		ID       string    `json:"id"`
		Type     string    `json:"type"`
		Function function  `json:"function"`
		Quoin    Projected `json:"quoin"`
	}
	type assistant struct {
		Role      string  `json:"role"`
		Content   *string `json:"content"`
		ToolCalls []call  `json:"tool_calls"`
	}
	type answer struct {
		Role       string `json:"role"`
		ToolCallID string `json:"tool_call_id"`
		Content    string `json:"content"`
	}
	asked := assistant{Role: "assistant"}
	out := []any{&asked}
	for _, c := range calls {
		asked.ToolCalls = append(asked.ToolCalls, call{c.id, "function", function{c.name, string(c.input)}, c.Projected})
	}
	for _, c := range results(calls) {
		out = append(out, answer{"tool", c.id, c.content})
	}
	return out
}

// anthropic writes the calls of one exec or wait.
func anthropic(calls []projection) []any {
	type use struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
		Quoin Projected       `json:"quoin"`
	}
	type answer struct {
		Type      string `json:"type"`
		ToolUseID string `json:"tool_use_id"`
		Content   string `json:"content"`
		IsError   bool   `json:"is_error,omitempty"`
	}
	type message struct {
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}
	asked, answered := message{Role: "assistant"}, message{Role: "user"}
	for _, c := range calls {
		asked.Content = append(asked.Content, use{"tool_use", c.id, c.name, c.input, c.Projected})
	}
	for _, c := range results(calls) {
		answered.Content = append(answered.Content, answer{"tool_result", c.id, c.content, c.failed})
	}
	return []any{asked, answered}
}

// results puts the exec or wait after what it waited for.
func results(calls []projection) []projection {
	return append(append([]projection{}, calls[1:]...), calls[0])
}

// result is the text of a result: its body, or what is known of it.
func result(body []byte, size int, outcome, code string) string {
	if len(body) > 0 {
		return string(body)
	}
	if code != "" {
		outcome += ", " + code
	}
	return fmt.Sprintf("[%s; %d bytes, not recorded]", outcome, size)
}

// object is a recorded input as an object, which providers insist on.
func object(input []byte) json.RawMessage {
	input = bytes.TrimSpace(input)
	switch {
	case len(input) == 0:
		return json.RawMessage("{}")
	case input[0] == '{' && json.Valid(input):
		return input
	}
	b, err := jsontext.Marshal(map[string]string{"recorded": string(input)})
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// Providers take ids and names of at most 64 letters, digits, '_' and '-'.
const maxIDLength = 64

func idOf(s string) string {
	s = strings.Map(plain, s)
	return s[max(0, len(s)-maxIDLength):] // the end tells them apart
}

func nameOf(s string) string {
	s = strings.Map(plain, s)
	return s[:min(len(s), maxIDLength)]
}

func plain(c rune) rune {
	if c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return c
	}
	return '_'
}

func ms(micros int64) float64 { return float64(micros) / 1000 }
