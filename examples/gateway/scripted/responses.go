package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Responses, OpenAI's newer API, without anything kept by the service.

type responsesRequest struct {
	Model        string            `json:"model"`
	Stream       bool              `json:"stream"`
	Store        *bool             `json:"store"`
	Instructions string            `json:"instructions"`
	Tools        json.RawMessage   `json:"tools"`
	Input        []json.RawMessage `json:"input"`
}

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    string          `json:"output"`
	Encrypted string          `json:"encrypted_content"`
}

// secret is what the model's reasoning says to itself. It has to come back.
const secret = "reasoning of the script"

func readResponses(body []byte) (payload, error) {
	var in responsesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return payload{}, err
	}
	p := payload{model: in.Model, stream: in.Stream, rawTools: in.Tools}
	p.conversation.Instructions = in.Instructions
	if in.Store == nil || *in.Store {
		return p, errors.New("store has to be false: the gateway keeps its conversations itself")
	}
	var tools []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	}
	if err := json.Unmarshal(in.Tools, &tools); err != nil {
		return p, fmt.Errorf("tools: %w", err)
	}
	for _, t := range tools {
		if t.Type != "function" || t.Strict == nil || *t.Strict {
			return p, fmt.Errorf("the tool %q has to be a function that is not strict", t.Name)
		}
		p.tools = append(p.tools, definition{t.Name, t.Description, t.Parameters})
	}
	reasoned := false
	for i, raw := range in.Input {
		m, reasoning, err := readItem(raw)
		if err != nil {
			return p, fmt.Errorf("item %d: %w", i, err)
		}
		if m.Role == "assistant" && !reasoning && !reasoned {
			return p, fmt.Errorf("item %d comes without the model's reasoning before it", i)
		}
		reasoned = reasoning || reasoned && m.Role == "assistant"
		if !reasoning {
			p.conversation.add(m)
		}
	}
	return p, nil
}

// add joins the items of one reply.
func (c *Conversation) add(m Message) {
	if n := len(c.Messages); n > 0 && m.Role == "assistant" && c.Messages[n-1].Role == "assistant" {
		last := &c.Messages[n-1]
		last.Text += m.Text
		last.Calls = append(last.Calls, m.Calls...)
		return
	}
	c.Messages = append(c.Messages, m)
}

func readItem(raw json.RawMessage) (m Message, reasoning bool, _ error) {
	var item responsesItem
	if err := json.Unmarshal(raw, &item); err != nil {
		return m, false, err
	}
	switch item.Type {
	case "reasoning":
		if item.Encrypted != secret {
			return m, false, fmt.Errorf("the model's reasoning came back as %q", item.Encrypted)
		}
		return Message{Role: "assistant"}, true, nil
	case "function_call":
		return Message{Role: "assistant", Calls: []Call{{item.CallID, item.Name, item.Arguments}}}, false, nil
	case "function_call_output":
		return Message{Role: "tool", Results: []Result{{item.CallID, item.Output}}}, false, nil
	case "message", "":
		if item.Role != "user" && item.Role != "assistant" {
			return m, false, fmt.Errorf("the role %q", item.Role)
		}
		text, err := readText(item.Content)
		return Message{Role: item.Role, Text: text}, false, err
	}
	return m, false, fmt.Errorf("the type %q", item.Type)
}

// readText reads content that is a text or a list of parts.
func readText(raw json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var list []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", fmt.Errorf("content: %w", err)
	}
	for _, part := range list {
		text += part.Text
	}
	return text, nil
}

// responseItem is one item of what the model puts out.
type responseItem struct {
	Type      string            `json:"type"`
	ID        string            `json:"id"`
	Status    string            `json:"status,omitempty"`
	Role      string            `json:"role,omitempty"`
	Content   []responseContent `json:"content,omitempty"`
	CallID    string            `json:"call_id,omitempty"`
	Name      string            `json:"name,omitempty"`
	Arguments string            `json:"arguments,omitempty"`
	Summary   []string          `json:"summary,omitzero"`
	Encrypted string            `json:"encrypted_content,omitempty"`
}

type responseContent struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
}

type response struct {
	ID     string         `json:"id"`
	Object string         `json:"object"`
	Model  string         `json:"model"`
	Status string         `json:"status"`
	Output []responseItem `json:"output"`
}

func writeResponses(s *events, id string, r Reply) {
	sequence := 0
	send := func(name string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = name, sequence
		sequence++
		s.send(name, fields)
	}
	answer := response{"resp_" + id, "response", "scripted", "in_progress", []responseItem{}}
	send("response.created", map[string]any{"response": answer})
	item := func(done responseItem, name, field string, text string) {
		at := len(answer.Output)
		started := done
		started.Status, started.Content, started.Arguments = "in_progress", nil, ""
		send("response.output_item.added", map[string]any{"output_index": at, "item": started})
		for _, part := range parts(text) {
			send(name+".delta", map[string]any{"output_index": at, "item_id": done.ID, "content_index": 0, "delta": part})
		}
		if name != "" {
			send(name+".done", map[string]any{"output_index": at, "item_id": done.ID, "content_index": 0, field: text})
		}
		send("response.output_item.done", map[string]any{"output_index": at, "item": done})
		answer.Output = append(answer.Output, done)
	}
	item(responseItem{Type: "reasoning", ID: "rs_" + id, Summary: []string{}, Encrypted: secret}, "", "", "")
	if r.Text != "" {
		item(responseItem{Type: "message", ID: "msg_" + id, Status: "completed", Role: "assistant", Content: []responseContent{{"output_text", r.Text, []string{}}}},
			"response.output_text", "text", r.Text)
	}
	for _, c := range r.Calls {
		item(responseItem{Type: "function_call", ID: "fc_" + c.ID, Status: "completed", CallID: c.ID, Name: c.Name, Arguments: c.Arguments},
			"response.function_call_arguments", "arguments", c.Arguments)
	}
	answer.Status = "completed"
	send("response.completed", map[string]any{"response": answer})
}
