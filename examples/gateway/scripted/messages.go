package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Messages, Anthropic's API.

type messagesRequest struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	MaxTokens int             `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Tools     json.RawMessage `json:"tools"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content []messagesBlock `json:"content"`
	} `json:"messages"`
}

type messagesBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

func readMessages(body []byte) (payload, error) {
	var in messagesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return payload{}, err
	}
	p := payload{model: in.Model, stream: in.Stream, rawTools: in.Tools}
	if in.MaxTokens <= 0 {
		return p, errors.New("max_tokens is missing")
	}
	var err error
	if p.conversation.Instructions, err = readText(in.System); err != nil {
		return p, fmt.Errorf("system: %w", err)
	}
	var tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	if err := json.Unmarshal(in.Tools, &tools); err != nil {
		return p, fmt.Errorf("tools: %w", err)
	}
	for _, t := range tools {
		p.tools = append(p.tools, definition{t.Name, t.Description, t.InputSchema})
	}
	for i, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" || i > 0 && m.Role == in.Messages[i-1].Role {
			return p, fmt.Errorf("message %d has the role %q", i, m.Role)
		}
		out := Message{Role: m.Role}
		for _, b := range m.Content {
			if err := out.addBlock(b); err != nil {
				return p, fmt.Errorf("message %d: %w", i, err)
			}
		}
		p.conversation.Messages = append(p.conversation.Messages, out)
	}
	return p, nil
}

// addBlock adds a block to a message. Results are in messages of their own.
func (m *Message) addBlock(b messagesBlock) error {
	switch {
	case b.Type == "text" && b.Text != "" && m.Role != "tool":
		m.Text += b.Text
	case b.Type == "tool_use" && m.Role == "assistant":
		var input map[string]json.RawMessage
		if err := json.Unmarshal(b.Input, &input); err != nil {
			return fmt.Errorf("the input of %s: %w", b.ID, err)
		}
		m.Calls = append(m.Calls, Call{b.ID, b.Name, string(b.Input)})
	case b.Type == "tool_result" && m.Role != "assistant" && m.Text == "":
		text, err := readText(b.Content)
		if err != nil {
			return err
		}
		m.Role, m.Results = "tool", append(m.Results, Result{b.ToolUseID, text})
	default:
		return fmt.Errorf("a block %q is empty or out of place", b.Type)
	}
	return nil
}

func writeMessages(s *events, id string, r Reply) {
	send := func(name string, fields map[string]any) {
		fields["type"] = name
		s.send(name, fields)
	}
	usage := map[string]int{"input_tokens": 1, "output_tokens": 1}
	send("message_start", map[string]any{"message": map[string]any{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": "scripted", "content": []string{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
	send("ping", map[string]any{})
	index := 0
	block := func(start, delta map[string]any, field, text string) {
		send("content_block_start", map[string]any{"index": index, "content_block": start})
		for _, part := range parts(text) {
			d := map[string]any{field: part}
			for k, v := range delta {
				d[k] = v
			}
			send("content_block_delta", map[string]any{"index": index, "delta": d})
		}
		send("content_block_stop", map[string]any{"index": index})
		index++
	}
	if r.Text != "" {
		block(map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta"}, "text", r.Text)
	}
	stop := "end_turn"
	for _, c := range r.Calls {
		stop = "tool_use"
		block(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}, map[string]any{"type": "input_json_delta"}, "partial_json", c.Arguments)
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", map[string]any{})
}
