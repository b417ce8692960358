package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// An invocation answers the call of a tool of the host.
type invocation func(ctx context.Context, in catalog.Invocation) (any, error)

// hostTools are the tools that the host itself has. Clients see them directly.
func hostTools() []catalog.Tool {
	block := func(kind, data, mime string) any {
		return map[string]string{"type": kind, "data": data, "mimeType": mime}
	}
	said := func(words string) any { return map[string]string{"type": "text", "text": words} }
	document := func(uri string) any {
		return map[string]any{"type": "resource", "resource": map[string]string{"uri": uri, "mimeType": "text/plain", "text": "an embedded text"}}
	}
	picture := block("image", base64.StdEncoding.EncodeToString(pixel), "image/png")
	shows := func(blocks ...any) invocation {
		return func(context.Context, catalog.Invocation) (any, error) { return map[string]any{"content": blocks}, nil }
	}
	return []catalog.Tool{
		hostTool("test_simple_text", "Answers with text.", "", shows(said("a simple text"))),
		hostTool("test_image_content", "Answers with an image.", "", shows(picture)),
		hostTool("test_audio_content", "Answers with sound.", "", shows(block("audio", base64.StdEncoding.EncodeToString(silence), "audio/wav"))),
		hostTool("test_embedded_resource", "Answers with a resource.", "", shows(document("test://embedded-resource"))),
		hostTool("test_multiple_content_types", "Answers with text, an image and a resource.", "", shows(said("text"), picture, document("test://mixed-content-resource"))),
		hostTool("test_error_handling", "Always fails.", "", fails),
		hostTool("json_schema_2020_12_tool", "Has a schema of many keywords.", manyKeywords, shows(said("done"))),
		hostTool("test_elicitation", "Asks for a user name.", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`, func(_ context.Context, in catalog.Invocation) (any, error) {
			var given struct{ Message string }
			if err := json.Unmarshal(in.Input, &given); err != nil {
				return nil, err
			}
			return asked(in, question("username", given.Message, `{"type":"object","properties":{"username":{"type":"string"}},"required":["username"]}`))
		}),
		hostTool("test_elicitation_sep1034_defaults", "Asks with defaults.", "", asking(question("values", "Are these right?", defaults))),
		hostTool("test_elicitation_sep1330_enums", "Asks for choices.", "", asking(question("choices", "What do you choose?", choices))),
		hostTool("greet", "Greets.", `{"type":"object","properties":{"name":{"type":"string"}}}`, greet),
		hostTool("slow_compute", "Takes its time.", `{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`, slow),
		hostTool("failing_job", "Fails after a while.", "", func(ctx context.Context, in catalog.Invocation) (any, error) {
			return nil, errors.Join(rest(ctx, time.Second), errors.New("this job always fails"))
		}),
		hostTool("confirm_delete", "Asks before it deletes.", `{"type":"object","properties":{"filename":{"type":"string"}}}`,
			asking(question("confirm", "Delete it?", `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`))),
		hostTool("multi_input", "Asks two things at once.", "", asking(
			question("first", "Who are you?", `{"type":"object","properties":{"name":{"type":"string"}}}`),
			question("second", "And who else?", `{"type":"object","properties":{"name":{"type":"string"}}}`))),
	}
}

// directNames are the names of those tools.
func directNames(tools []catalog.Tool) []string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func hostTool(name, description, schema string, call invocation) catalog.Tool {
	return catalog.Tool{Name: name, Description: description, Parameters: json.RawMessage(schema), Invoke: func(ctx context.Context, in catalog.Invocation) (json.RawMessage, error) {
		v, err := call(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}}
}

func fails(context.Context, catalog.Invocation) (any, error) {
	return nil, errors.New("this tool always fails")
}

func greet(_ context.Context, in catalog.Invocation) (any, error) {
	var given struct{ Name string }
	if err := json.Unmarshal(in.Input, &given); err != nil {
		return nil, err
	}
	return fmt.Sprintf("Hello, %s!", given.Name), nil
}

// slow answers after some seconds.
func slow(ctx context.Context, in catalog.Invocation) (any, error) {
	var given struct{ Seconds float64 }
	if err := json.Unmarshal(in.Input, &given); err != nil {
		return nil, err
	}
	return "computed", rest(ctx, time.Duration(given.Seconds*float64(time.Second)))
}

// rest lasts for a while, unless ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func question(id, message, schema string) codemode.Question {
	return codemode.Question{ID: id, Kind: codemode.QuestionForm, From: "the conformance fixture", Message: message, Schema: json.RawMessage(schema)}
}

// asking asks and answers with the answers.
func asking(questions ...codemode.Question) invocation {
	return func(_ context.Context, in catalog.Invocation) (any, error) { return asked(in, questions...) }
}

func asked(in catalog.Invocation, questions ...codemode.Question) (any, error) {
	if in.Resumption == nil {
		return nil, &codemode.InputRequired{Questions: questions}
	}
	words := "answered:"
	for _, id := range slices.Sorted(maps.Keys(in.Resumption.Answers)) {
		a := in.Resumption.Answers[id]
		words += fmt.Sprintf(" action=%s content=%s", a.Action, a.Content)
	}
	return words, nil
}
