package scripted

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// Chat completions, as OpenAI and most other servers speak it.

func readChat(in gjson.Result, p *payload) error {
	for _, t := range in.Get("tools").Array() {
		p.addTool(t.Get("function"), "parameters")
	}
	for i, m := range in.Get("messages").Array() {
		out := Message{Role: m.Get("role").String(), Text: readText(m.Get("content"))}
		switch out.Role {
		case "system", "developer":
			p.Instructions += out.Text
			continue
		case "user", "assistant":
		case "tool":
			out.Text, out.Results = "", []Result{{m.Get("tool_call_id").String(), out.Text}}
		default:
			return fmt.Errorf("message %d has the role %q", i, out.Role)
		}
		for _, c := range m.Get("tool_calls").Array() {
			if t := c.Get("type").String(); t != "function" {
				return fmt.Errorf("message %d has a call of type %q", i, t)
			}
			out.Calls = append(out.Calls, Call{c.Get("id").String(), c.Get("function.name").String(), c.Get("function.arguments").String()})
		}
		p.Messages = append(p.Messages, out)
	}
	return nil
}

func writeChat(s *events, id string, r Reply) {
	send := func(delta object, finish any) {
		s.send("", object{
			"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	send(object{"role": "assistant"}, nil)
	for _, part := range parts(r.Text) {
		send(object{"content": part}, nil)
	}
	finish := "stop"
	for i, c := range r.Calls {
		finish = "tool_calls"
		send(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, part := range parts(c.Arguments) {
			send(object{"tool_calls": []object{{"index": i, "function": object{"arguments": part}}}}, nil)
		}
	}
	send(object{}, finish)
	s.send("", "[DONE]")
}
