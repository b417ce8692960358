package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quoinhq/quoin/internal/typeschema"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// inputCheck checks inputs of one tool.
type inputCheck struct {
	tool     string
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
	defaults typeschema.Defaults
}

func newInputCheck(tool string, s *jsonschema.Schema) (*inputCheck, error) {
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return &inputCheck{tool: tool, schema: s, resolved: resolved, defaults: typeschema.DefaultsOf(s, resolved)}, nil
}

// validate reports in words for the model what is wrong with an input.
func (c *inputCheck) validate(input json.RawMessage) error {
	_, err := c.prepare(input)
	return err
}

// prepare checks an input and returns it with defaults filled in.
func (c *inputCheck) prepare(input json.RawMessage) (json.RawMessage, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	input, err := c.defaults.Fill(input)
	if err != nil {
		return nil, c.refuse("%v", err)
	}
	var tree any
	if err := json.Unmarshal(input, &tree); err != nil {
		return nil, c.refuse("the input is not JSON: %v", err)
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, c.refuse("the input must be an object, got %s", shortJSON(tree))
	}
	if err := c.resolved.Validate(object); err != nil {
		found := problems(c.schema, object, "")
		if len(found) == 0 {
			return nil, c.refuse("%s", strings.TrimPrefix(err.Error(), "validating root: "))
		}
		return nil, c.refuse("%s", joinProblems(found))
	}
	return input, nil
}

// refuse is an input error that names the tool and its fields.
func (c *inputCheck) refuse(format string, args ...any) error {
	message := fmt.Sprintf("%s: ", c.tool) + fmt.Sprintf(format, args...)
	if fields := describeFields(c.schema); fields != "" {
		message += ". The input is " + fields
	}
	return protocol.NewError(protocol.KindInput, protocol.CodeInvalidInput, "%s", message)
}

// describeFields is the shape of an object in one line: {id: string, limit?: integer}.
func describeFields(s *jsonschema.Schema) string {
	if s.Properties == nil {
		return ""
	}
	names := s.PropertyOrder
	if len(names) != len(s.Properties) {
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	parts := make([]string, len(names))
	for i, name := range names {
		mark := "?"
		if slices.Contains(s.Required, name) {
			mark = ""
		}
		parts[i] = name + mark + ": " + expectation(s.Properties[name])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// joinProblems keeps the first few problems of a long list.
func joinProblems(found []string) string {
	const shown = 5
	if len(found) > shown {
		rest := len(found) - shown
		found = append(slices.Clip(found[:shown]), fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(found, "; ")
}
