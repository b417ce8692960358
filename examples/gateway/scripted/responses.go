package scripted

import (
	"errors"
	"fmt"
	"maps"

	"github.com/tidwall/gjson"
)

// Responses, OpenAI's newer API, without anything kept by the service.

// secret is what the model's reasoning says to itself. It has to come back.
const secret = "reasoning of the script"

func readResponses(in gjson.Result, p *payload) error {
	p.Instructions = in.Get("instructions").String()
	if store := in.Get("store"); !store.Exists() || store.Bool() {
		return errors.New("store has to be false: the gateway keeps its conversations itself")
	}
	for _, t := range in.Get("tools").Array() {
		if strict := t.Get("strict"); t.Get("type").String() != "function" || !strict.Exists() || strict.Bool() {
			return fmt.Errorf("the tool %q has to be a function that is not strict", t.Get("name"))
		}
		p.addTool(t, "parameters")
	}
	reasoned := false
	for i, raw := range in.Get("input").Array() {
		m, reasoning, err := readItem(raw)
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		if m.Role == "assistant" && !reasoning && !reasoned {
			return fmt.Errorf("item %d comes without the model's reasoning before it", i)
		}
		reasoned = reasoning || reasoned && m.Role == "assistant"
		if !reasoning {
			p.add(m)
		}
	}
	return nil
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

func readItem(item gjson.Result) (m Message, reasoning bool, _ error) {
	field := func(name string) string { return item.Get(name).String() }
	switch field("type") {
	case "reasoning":
		if back := field("encrypted_content"); back != secret {
			return m, false, fmt.Errorf("the model's reasoning came back as %q", back)
		}
		return Message{Role: "assistant"}, true, nil
	case "function_call":
		return Message{Role: "assistant", Calls: []Call{{field("call_id"), field("name"), field("arguments")}}}, false, nil
	case "function_call_output":
		return Message{Role: "tool", Results: []Result{{field("call_id"), field("output")}}}, false, nil
	case "message", "":
		if role := field("role"); role != "user" && role != "assistant" {
			return m, false, fmt.Errorf("the role %q", role)
		}
		return Message{Role: field("role"), Text: readText(item.Get("content"))}, false, nil
	}
	return m, false, fmt.Errorf("the type %q", field("type"))
}

func writeResponses(s *events, id string, r Reply) {
	sequence := 0
	send := func(name string, fields object) {
		fields["type"], fields["sequence_number"] = name, sequence
		sequence++
		s.send(name, fields)
	}
	output := []object{}
	answer := func(status string) object {
		return object{"response": object{"id": "resp_" + id, "object": "response", "model": "scripted", "status": status, "output": output}}
	}
	send("response.created", answer("in_progress"))
	item := func(done object, name, field, text string) {
		at := len(output)
		started := maps.Clone(done)
		started["status"] = "in_progress"
		delete(started, "content")
		delete(started, "arguments")
		send("response.output_item.added", object{"output_index": at, "item": started})
		for _, part := range parts(text) {
			send(name+".delta", object{"output_index": at, "item_id": done["id"], "content_index": 0, "delta": part})
		}
		if name != "" {
			send(name+".done", object{"output_index": at, "item_id": done["id"], "content_index": 0, field: text})
		}
		send("response.output_item.done", object{"output_index": at, "item": done})
		output = append(output, done)
	}
	item(object{"type": "reasoning", "id": "rs_" + id, "summary": []string{}, "encrypted_content": secret}, "", "", "")
	if r.Text != "" {
		content := []object{{"type": "output_text", "text": r.Text, "annotations": []string{}}}
		item(object{"type": "message", "id": "msg_" + id, "status": "completed", "role": "assistant", "content": content}, "response.output_text", "text", r.Text)
	}
	for _, c := range r.Calls {
		item(object{"type": "function_call", "id": "fc_" + c.ID, "status": "completed", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments},
			"response.function_call_arguments", "arguments", c.Arguments)
	}
	send("response.completed", answer("completed"))
}
