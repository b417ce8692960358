package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
)

// tolerant are the scenarios in which some calls have to fail, and the others continue.
var tolerant = map[string]bool{"sep-2322-client-request-state": true, "http-custom-headers": true, "http-invalid-tool-headers": true, "http-standard-headers": true}

// play makes the calls of a scenario: those that it names, or else each tool once.
func (c *client) play(ctx context.Context, scenario string, calls []toolCall) error {
	if len(calls) == 0 {
		var echoed json.RawMessage
		for _, t := range c.servers.Tools() {
			calls = append(calls, toolCall{t.Name, argumentsOf(scenario, t)})
			if t.Name == "json_schema_2020_12_tool" { // the scenario wants to see what became of its schema
				echoed = t.Input
			}
		}
		for i := range calls {
			if calls[i].Name == "json_schema_echo" {
				calls[i].Arguments = json.RawMessage(fmt.Sprintf(`{"schema":%s}`, echoed))
			}
		}
	}
	for _, call := range calls {
		err := c.call(ctx, call)
		switch {
		case err == nil:
		case tolerant[scenario]:
			fmt.Fprintf(os.Stderr, "%s: %v\n", call.Name, err)
		default:
			return fmt.Errorf("%s: %w", call.Name, err)
		}
	}
	return nil
}

// argumentsOf are those that the scenarios expect of their tools.
func argumentsOf(scenario string, t mcp.Tool) json.RawMessage {
	switch {
	case t.Name == "add_numbers":
		return json.RawMessage(`{"a":5,"b":3}`)
	case scenario == "http-invalid-tool-headers":
		return json.RawMessage(`{"region":"us-west1"}`)
	case t.Operation == mcp.ResourcesRead:
		return json.RawMessage(`{"uri":"file:///path/to/file%20name.txt"}`)
	case t.Operation == mcp.PromptsGet:
		return json.RawMessage(`{"name":"test_prompt"}`)
	}
	return json.RawMessage(`{}`)
}

// call makes a call, and what a host does about it until it has an answer: people sign in
// and answer, and the call is made again.
func (c *client) call(ctx context.Context, call toolCall) error {
	r := mcp.Request{Server: name, Tool: call.Name, Input: call.Arguments, Ask: func(_ context.Context, q codemode.Question) (codemode.QuestionAnswer, error) {
		return answer(q), nil
	}}
	for range maxRounds {
		_, err := c.servers.Call(ctx, r)
		var ask *codemode.InputRequired
		if !errors.As(err, &ask) {
			return err
		}
		r.Resumption = &codemode.Resumption{State: ask.State, Answers: map[string]codemode.QuestionAnswer{}}
		for _, q := range ask.Questions {
			if q.Kind == codemode.QuestionAuthorization {
				if err := follow(ctx)(q.URL); err != nil {
					return err
				}
			}
			r.Resumption.Answers[q.ID] = answer(q)
		}
	}
	return fmt.Errorf("asks more than %d times", maxRounds)
}

// answer agrees to everything, and fills a form in with the defaults that it names.
func answer(q codemode.Question) codemode.QuestionAnswer {
	out := codemode.QuestionAnswer{Action: codemode.AnswerAccept}
	if q.Kind != codemode.QuestionForm {
		return out
	}
	var form struct {
		Properties map[string]struct {
			Type    string          `json:"type"`
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	content := map[string]json.RawMessage{}
	if json.Unmarshal(q.Schema, &form) == nil {
		for field, p := range form.Properties {
			switch {
			case p.Default != nil:
				content[field] = p.Default
			case p.Type == "boolean":
				content[field] = json.RawMessage("true")
			}
		}
	}
	text, err := json.Marshal(content)
	if err == nil {
		out.Content = text
	}
	return out
}
