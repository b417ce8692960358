package scripted

import (
	"encoding/json"
	"fmt"
)

// Chat completions, as OpenAI and most other servers speak it.

type chatRequest struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	Tools    json.RawMessage `json:"tools"`
	Messages []struct {
		Role       string `json:"role"`
		Content    string `json:"content"`
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string       `json:"id"`
			Type     string       `json:"type"`
			Function chatFunction `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
}

type chatFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

func readChat(body []byte) (payload, error) {
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return payload{}, err
	}
	p := payload{model: in.Model, stream: in.Stream, rawTools: in.Tools}
	var tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(in.Tools, &tools); err != nil {
		return p, fmt.Errorf("tools: %w", err)
	}
	for _, t := range tools {
		p.tools = append(p.tools, definition{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	for i, m := range in.Messages {
		switch m.Role {
		case "system", "developer":
			p.conversation.Instructions += m.Content
			continue
		case "user", "assistant", "tool":
		default:
			return p, fmt.Errorf("message %d has the role %q", i, m.Role)
		}
		out := Message{Role: m.Role, Text: m.Content}
		if m.Role == "tool" {
			out.Text, out.Results = "", []Result{{m.ToolCallID, m.Content}}
		}
		for _, c := range m.ToolCalls {
			if c.Type != "function" {
				return p, fmt.Errorf("message %d has a call of type %q", i, c.Type)
			}
			out.Calls = append(out.Calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
		}
		p.conversation.Messages = append(p.conversation.Messages, out)
	}
	return p, nil
}

type chatDelta struct {
	Role      string         `json:"role,omitempty"`
	Content   string         `json:"content,omitempty"`
	ToolCalls []chatToolCall `json:"tool_calls,omitempty"`
}

type chatToolCall struct {
	Index    int          `json:"index"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

type chatChoice struct {
	Index        int       `json:"index"`
	Delta        chatDelta `json:"delta"`
	FinishReason *string   `json:"finish_reason"`
}

func writeChat(s *events, id string, r Reply) {
	send := func(d chatDelta, finish *string) {
		s.send("", struct {
			ID      string       `json:"id"`
			Object  string       `json:"object"`
			Created int          `json:"created"`
			Model   string       `json:"model"`
			Choices []chatChoice `json:"choices"`
		}{"chatcmpl-" + id, "chat.completion.chunk", 1, "scripted", []chatChoice{{0, d, finish}}})
	}
	send(chatDelta{Role: "assistant"}, nil)
	for _, part := range parts(r.Text) {
		send(chatDelta{Content: part}, nil)
	}
	finish := "stop"
	for i, c := range r.Calls {
		finish = "tool_calls"
		send(chatDelta{ToolCalls: []chatToolCall{{Index: i, ID: c.ID, Type: "function", Function: chatFunction{Name: c.Name}}}}, nil)
		for _, part := range parts(c.Arguments) {
			send(chatDelta{ToolCalls: []chatToolCall{{Index: i, Function: chatFunction{Arguments: part}}}}, nil)
		}
	}
	send(chatDelta{}, &finish)
	s.send("", "[DONE]")
}
