package scripted

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"
)

// Messages, Anthropic's API.

func readMessages(in gjson.Result, p *payload) error {
	if in.Get("max_tokens").Int() <= 0 {
		return errors.New("max_tokens is missing")
	}
	p.Instructions = readText(in.Get("system"))
	for _, t := range in.Get("tools").Array() {
		p.addTool(t, "input_schema")
	}
	before := ""
	for i, m := range in.Get("messages").Array() {
		role := m.Get("role").String()
		if role != "user" && role != "assistant" || role == before {
			return fmt.Errorf("message %d has the role %q", i, role)
		}
		before = role
		out := Message{Role: role}
		for _, b := range m.Get("content").Array() {
			if !out.addBlock(b) {
				return fmt.Errorf("message %d: a block %q is empty or out of place", i, b.Get("type"))
			}
		}
		p.Messages = append(p.Messages, out)
	}
	return nil
}

// addBlock adds a block to a message. Results are in messages of their own.
func (m *Message) addBlock(b gjson.Result) bool {
	switch kind, text := b.Get("type").String(), b.Get("text").String(); {
	case kind == "text" && text != "" && m.Role != "tool":
		m.Text += text
	case kind == "tool_use" && m.Role == "assistant" && b.Get("input").IsObject():
		m.Calls = append(m.Calls, Call{b.Get("id").String(), b.Get("name").String(), b.Get("input").Raw})
	case kind == "tool_result" && m.Role != "assistant" && m.Text == "":
		m.Role, m.Results = "tool", append(m.Results, Result{b.Get("tool_use_id").String(), readText(b.Get("content"))})
	default:
		return false
	}
	return true
}

func writeMessages(s *events, id string, r Reply) {
	send := func(name string, fields object) {
		fields["type"] = name
		s.send(name, fields)
	}
	usage := object{"input_tokens": 1, "output_tokens": 1}
	send("message_start", object{"message": object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": "scripted", "content": []string{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
	send("ping", object{})
	index := 0
	block := func(start object, delta, field, text string) {
		send("content_block_start", object{"index": index, "content_block": start})
		for _, part := range parts(text) {
			send("content_block_delta", object{"index": index, "delta": object{"type": delta, field: part}})
		}
		send("content_block_stop", object{"index": index})
		index++
	}
	if r.Text != "" {
		block(object{"type": "text", "text": ""}, "text_delta", "text", r.Text)
	}
	stop := "end_turn"
	for _, c := range r.Calls {
		stop = "tool_use"
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, "input_json_delta", "partial_json", c.Arguments)
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", object{})
}
