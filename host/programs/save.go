package programs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/text"
)

// last names the newest completed run, in place of a run id.
const last = "last"

// Request says what is to be saved, and under which name.
type Request struct {
	// RunID names the run. last, and the empty string, are the newest run that has
	// completed.
	RunID string `json:"runId,omitempty"`
	Name  string `json:"name"`
	// Description says what the program does, for searches. It defaults to the title of
	// the run.
	Description string `json:"description,omitempty"`
	// Input is the JSON Schema of the input; Example is an input to make one of. With
	// neither, a program that mentions input takes any object, and another takes nothing.
	Input   json.RawMessage `json:"input,omitempty"`
	Example json.RawMessage `json:"example,omitempty"`
	// For defaults to ForSession.
	For     Audience `json:"for,omitempty"`
	Replace bool     `json:"replace,omitempty"`
}

// Save saves the program of a completed run of the session under a name. With a nil
// session it may be a run of any. By says who saves it, for the record.
func Save(ctx context.Context, st Store, s *codemode.Session, rq Request, by string, now time.Time) (*Program, error) {
	if err := CheckName(rq.Name); err != nil {
		return nil, err
	}
	k, err := completedRun(ctx, st, s, rq.RunID)
	if err != nil {
		return nil, err
	}
	schema, err := inputSchema(rq, k.Code)
	if err != nil {
		return nil, err
	}
	p := &Program{
		Name: rq.Name, Description: text.Shorten(cmp.Or(rq.Description, k.Title), maxDescription),
		Language: k.Language, Code: k.Code, Input: schema, Tools: k.Tools,
		For: cmp.Or(rq.For, ForSession), Owner: k.Session, RunID: k.RunID, Saved: now.UTC(), By: by,
	}
	p.Owner.TurnID = ""
	return p, st.Put(ctx, p, rq.Replace)
}

// completedRun finds the run that is meant.
func completedRun(ctx context.Context, st Store, s *codemode.Session, id string) (*Kept, error) {
	if id != "" && id != last {
		k, err := st.Kept(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case s != nil && !s.Owns(k.Session):
			return nil, notKept(id)
		case !k.Completed:
			return nil, errorf(Invalid, "The run %s has not completed: a program is saved once it has returned.", id)
		}
		return k, nil
	}
	list, err := st.AllKept(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range list {
		if k.Completed && (s == nil || s.Owns(k.Session)) {
			return k, nil
		}
	}
	return nil, errorf(NotFound, "No program of a completed run is kept. Run the program, then save it.")
}

// mentionsInput finds the input of a program in its text.
var mentionsInput = regexp.MustCompile(`\binput\b`)

// inputSchema is the schema that a request has, or one made of its example.
func inputSchema(rq Request, code string) (json.RawMessage, error) {
	schema := rq.Input
	switch {
	case len(schema) > 0 && len(rq.Example) > 0:
		return nil, errorf(Invalid, "both input and example are given: give the schema, or an example to make one of.")
	case len(rq.Example) > 0:
		var err error
		if schema, err = inferred(rq.Example); err != nil {
			return nil, err
		}
	case len(schema) == 0 && mentionsInput.MatchString(code):
		schema = json.RawMessage(`{"type":"object"}`)
	case len(schema) == 0:
		schema = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	var top struct{ Type string }
	if json.Unmarshal(schema, &top) != nil || top.Type != "object" {
		return nil, errorf(Invalid, `the input schema of a program is not one of an object, expected {"type":"object","properties":{...}}.`)
	}
	if err := catalog.Check(catalog.Tool{Name: "input", Description: "The input.", Parameters: schema}); err != nil {
		return nil, errorf(Invalid, "the input schema cannot be used: %v", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, schema); err != nil {
		return nil, errorf(Invalid, "the input schema is not JSON: %v", err)
	}
	return compact.Bytes(), nil
}

// inferred is the schema of inputs like an example: its members, which may be left out.
func inferred(example json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(example))
	d.UseNumber()
	var value map[string]any
	if len(example) > maxSchema || d.Decode(&value) != nil || value == nil {
		return nil, errorf(Invalid, "the example of an input is no JSON object, expected one such as {\"days\": 7}.")
	}
	return json.Marshal(schemaOf(value, 0))
}

// maxInferred bounds how deep a schema is made of an example.
const maxInferred = 8

// schemaOf is the schema of values like v.
func schemaOf(v any, depth int) map[string]any {
	if depth > maxInferred {
		return map[string]any{}
	}
	switch v := v.(type) {
	case string:
		return map[string]any{"type": "string"}
	case bool:
		return map[string]any{"type": "boolean"}
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return map[string]any{"type": "integer"}
		}
		return map[string]any{"type": "number"}
	case []any:
		if len(v) == 0 {
			return map[string]any{"type": "array"}
		}
		return map[string]any{"type": "array", "items": schemaOf(v[0], depth+1)}
	case map[string]any:
		properties := map[string]any{}
		for name, member := range v {
			properties[name] = schemaOf(member, depth+1)
		}
		return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	}
	return map[string]any{}
}

// ToolOf describes a tool as a program runs with it.
func ToolOf(id, digest string, tool *catalog.Tool) Tool {
	t := Tool{ID: id, Digest: digest}
	if tool != nil {
		t.Input = text.Shorten(catalog.Shape(tool.Parameters), maxSignature)
		if len(tool.Output) > 0 {
			t.Output = text.Shorten(catalog.Shape(tool.Output), maxSignature)
		}
	}
	return t
}
