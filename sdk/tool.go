package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quoinhq/quoin/internal/typeschema"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Tool describes one tool to the model and the host. Input and output schemas
// come from the handler's types.
type Tool struct {
	// Name is unique within the plugin: a letter, then up to 63 letters,
	// digits, '_', '.' and '-'.
	Name string
	// Label is a short title for people. Optional.
	Label string
	// Description tells the model what the tool does and when to use it.
	Description string
	// ReadOnly: a call changes nothing.
	ReadOnly bool
	// Idempotent: repeating a call with the same IdempotencyKey changes
	// nothing more.
	Idempotent bool
	// Revert says how each call is undone: see [RevertBy]. Defaults to nil: a call cannot
	// be undone, or the tool is ReadOnly.
	Revert *Revert
	// Examples show the model worked inputs: descriptions have all of them, the
	// prompt the first that is short. Each is checked against the input schema when the tool
	// is added.
	Examples []Example
}

// Example is one worked use of a tool.
type Example struct {
	// Description says what the example shows. Optional.
	Description string
	// Input is a value of the tool's input type, or anything with the same
	// JSON form.
	Input any
	// Output is what the tool answers. Optional.
	Output any
}

// Handler runs one tool. ctx ends when the host cancels the call or gives up
// waiting. Handlers run concurrently. A panic fails the call, not the plugin.
type Handler[In, Out any] func(ctx context.Context, c *Call, in In) (Out, error)

// toolName is what hosts accept; '.' and '-' become '_' in a guest's `tools`.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// AddTool adds a tool with JSON Schemas that are inferred from In and Out. In
// must be a struct or a map with string keys. A field is optional if it is
// marked omitempty or omitzero; tags refine its schema (see the package
// comment). A time.Time is a string with the format date-time. AddTool panics
// on a programmer's mistake; see [AddToolSafely].
func AddTool[In, Out any](p *Plugin, t Tool, h Handler[In, Out]) *ToolRef {
	ref, err := AddToolSafely(p, t, h)
	if err != nil {
		misuse(err)
	}
	return ref
}

// AddToolSafely is [AddTool] with an error instead of a panic. After an error
// the plugin is unchanged.
func AddToolSafely[In, Out any](p *Plugin, t Tool, h Handler[In, Out]) (*ToolRef, error) {
	if h == nil {
		return nil, fmt.Errorf("tool %q has no handler", t.Name)
	}
	in, err := typeschema.Input(reflect.TypeFor[In]())
	if err != nil {
		return nil, fmt.Errorf("tool %q: input: %w", t.Name, err)
	}
	out, err := typeschema.Output(reflect.TypeFor[Out]())
	if err != nil {
		return nil, fmt.Errorf("tool %q: output: %w", t.Name, err)
	}
	if err := t.Revert.check(reflect.TypeFor[In](), reflect.TypeFor[Out]()); err != nil {
		return nil, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	return p.addTool(t, in, out, func(ctx context.Context, c *Call, input json.RawMessage) (json.RawMessage, error) {
		var v In
		if err := json.Unmarshal(input, &v); err != nil {
			return nil, protocol.NewError(protocol.KindInput, protocol.CodeInvalidInput, "%s: the input does not fit: %v", t.Name, err)
		}
		result, err := h(ctx, c, v)
		if err != nil {
			return nil, err
		}
		c.revertBy(t.Revert, v, result)
		return encodeOutput(t.Name, result, out)
	})
}

// RawHandler runs a tool with schemas written by hand. The input has been
// checked against the input schema; the result must be JSON.
type RawHandler func(ctx context.Context, c *Call, input json.RawMessage) (json.RawMessage, error)

// RawSchemas are the hand-written JSON Schemas (draft 2020-12) of a tool.
type RawSchemas struct {
	// Input must be of type object.
	Input json.RawMessage
	// Output may be nil.
	Output json.RawMessage
}

// AddRawTool adds a tool with hand-written schemas. It panics on a
// programmer's mistake; see [Plugin.AddRawToolSafely].
func (p *Plugin) AddRawTool(t Tool, s RawSchemas, h RawHandler) *ToolRef {
	ref, err := p.AddRawToolSafely(t, s, h)
	if err != nil {
		misuse(err)
	}
	return ref
}

// AddRawToolSafely is [Plugin.AddRawTool] with an error instead of a panic.
func (p *Plugin) AddRawToolSafely(t Tool, s RawSchemas, h RawHandler) (*ToolRef, error) {
	if h == nil {
		return nil, fmt.Errorf("tool %q has no handler", t.Name)
	}
	in, err := parseSchema(s.Input)
	if err != nil {
		return nil, fmt.Errorf("tool %q: input schema: %w", t.Name, err)
	}
	if in == nil || in.Type != "object" {
		return nil, fmt.Errorf("tool %q: the input schema must have \"type\": \"object\"", t.Name)
	}
	out, err := parseSchema(s.Output)
	if err != nil {
		return nil, fmt.Errorf("tool %q: output schema: %w", t.Name, err)
	}
	raw := reflect.TypeFor[json.RawMessage]()
	if err := t.Revert.check(raw, raw); err != nil {
		return nil, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	return p.addTool(t, in, out, func(ctx context.Context, c *Call, input json.RawMessage) (json.RawMessage, error) {
		result, err := h(ctx, c, input)
		if err != nil {
			return nil, err
		}
		if !json.Valid(result) || !utf8.Valid(result) {
			return nil, protocol.NewError(protocol.KindPlugin, protocol.CodeInvalidOutput, "tool %s returned something that is not JSON in UTF-8", t.Name)
		}
		c.revertBy(t.Revert, input, result)
		return result, nil
	})
}

// addTool checks and records one tool.
func (p *Plugin) addTool(t Tool, in, out *jsonschema.Schema, call RawHandler) (*ToolRef, error) {
	if !toolName.MatchString(t.Name) {
		return nil, fmt.Errorf("tool name %q is not a letter followed by up to 63 letters, digits, '_', '.' and '-'", t.Name)
	}
	if _, dup := p.tools[t.Name]; dup {
		return nil, fmt.Errorf("tool %q was added twice", t.Name)
	}
	if t.Description == "" {
		return nil, fmt.Errorf("tool %q has no description: the model chooses by it", t.Name)
	}
	if t.Revert != nil && t.ReadOnly {
		return nil, fmt.Errorf("tool %q is ReadOnly and has a Revert: a call that changes nothing is not undone", t.Name)
	}
	check, err := newInputCheck(t.Name, in)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	info := protocol.ToolInfo{
		Name: t.Name, Label: t.Label, Description: t.Description,
		ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, Revertible: t.Revert != nil,
	}
	if info.Parameters, err = json.Marshal(in); err != nil {
		return nil, fmt.Errorf("tool %q: input schema: %w", t.Name, err)
	}
	if out != nil {
		if info.Output, err = json.Marshal(out); err != nil {
			return nil, fmt.Errorf("tool %q: output schema: %w", t.Name, err)
		}
	}
	if info.Examples, err = encodeExamples(t.Examples, check); err != nil {
		return nil, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	p.tools[t.Name] = &registeredTool{info: info, input: check, call: call}
	p.toolOrder = append(p.toolOrder, t.Name)
	return &ToolRef{name: t.Name, owner: p}, nil
}

// encodeExamples turns examples into JSON and checks their inputs.
func encodeExamples(examples []Example, check *inputCheck) ([]protocol.Example, error) {
	var out []protocol.Example
	for i, e := range examples {
		input, err := json.Marshal(e.Input)
		if err != nil {
			return nil, fmt.Errorf("example %d: input: %w", i+1, err)
		}
		if err := check.validate(input); err != nil {
			return nil, fmt.Errorf("example %d does not fit the tool: %w", i+1, err)
		}
		example := protocol.Example{Description: e.Description, Input: input}
		if e.Output != nil {
			if example.Output, err = json.Marshal(e.Output); err != nil {
				return nil, fmt.Errorf("example %d: output: %w", i+1, err)
			}
		}
		out = append(out, example)
	}
	return out, nil
}
