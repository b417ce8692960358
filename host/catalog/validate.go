package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/quoinhq/quoin/internal/schemalimit"
	"github.com/quoinhq/quoin/internal/text"
)

// NormalInput returns {} for an input that is absent or null, as guests give
// it when a tool needs no input, and every other input as it is.
//
// Use it before you pass an input to Invoke: a guest that calls a tool without
// arguments must not fail on a schema that wants an object.
func NormalInput(input json.RawMessage) json.RawMessage {
	if trimmed := bytes.TrimSpace(input); len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}")
	}
	return input
}

// ValidateInput checks an input, after NormalInput, against the schema of the
// tool with an exact id. It fails with InvalidInput and a message for the
// model that names the tool, says what is wrong where, and shows the shape
// that is expected; with InvalidSchema if the tool's own schema cannot be
// used; with UnknownTool. A tool without a schema takes any object. So does an
// MCP tool with a schema that cannot be used: its server judges the input.
//
// Schemas are compiled when first used and kept. References outside a schema
// are never followed. Formats are checked where the schema's draft says so,
// and patterns where Go's regular expressions can.
//
// A number that is extremely long or large is refused before validation, which
// would calculate with it exactly.
func (c *Catalog) ValidateInput(id string, input json.RawMessage) error {
	t, ok := c.ByID(id)
	if !ok {
		return c.unknown(id)
	}
	if n := schemalimit.WildNumber(input); n != "" {
		return t.badInput([]string{"the number " + n + "… is too long or has too large an exponent"}, nil)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(NormalInput(input)))
	if err != nil {
		return t.badInput([]string{"it is not valid JSON"}, err)
	}
	_, object := value.(map[string]any)
	if len(t.Parameters) > 0 {
		if err = c.hold(t, value); t.Source != SourceMCP || !errors.Is(err, InvalidSchema) {
			return err
		}
	}
	if !object {
		return t.badInput([]string{"it must be an object"}, nil)
	}
	return nil
}

// hold checks a value against the schema of a tool.
func (c *Catalog) hold(t *Tool, value any) error {
	schema, err := c.options.Schemas.get(t.Parameters)
	if err != nil {
		return t.badSchema(schemaFault(err), err)
	}
	return t.validate(schema, value, func(e *jsonschema.ValidationError) *Error {
		return t.badInput(problems(e, propertyNames(t.Parameters)), e)
	})
}

// CheckInput checks an input against a schema that belongs to no tool of a catalog, such as
// the schema of a form. It fails with InvalidInput or InvalidSchema, and compiles the schema
// each time.
func CheckInput(schema, input json.RawMessage) error {
	bad := func(code Code, why string, cause error) *Error { return &Error{Code: code, Message: why, Err: cause} }
	compiled, err := compile(string(schema))
	if err != nil {
		return bad(InvalidSchema, "the schema cannot be used: "+schemaFault(err), err)
	}
	if n := schemalimit.WildNumber(input); n != "" {
		return bad(InvalidInput, "the number "+n+"… is too long or has too large an exponent", nil)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(input))
	if err != nil {
		return bad(InvalidInput, "it is not valid JSON", err)
	}
	form := &Tool{Name: "form", Parameters: schema}
	return form.validate(compiled, value, func(e *jsonschema.ValidationError) *Error {
		return bad(InvalidInput, listed(problems(e, propertyNames(schema)))+". Expected: "+Shape(schema), e)
	})
}

// validate checks a value and turns what is wrong with it into the error that bad
// makes. The schema comes from outside, so a panic of the validator must not end
// the host.
func (t *Tool) validate(schema *schemalimit.Schema, value any, bad func(*jsonschema.ValidationError) *Error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = t.badSchema(fmt.Sprintf("it cannot be applied: %v", p), nil)
		}
	}()
	failed := schema.Validate(value)
	if failed == nil {
		return nil
	}
	var details *jsonschema.ValidationError
	if !errors.As(failed, &details) {
		return t.badSchema(failed.Error(), failed)
	}
	if cycle := refCycle(details); cycle != nil {
		return t.badSchema("it refers to itself without end at "+cycle.URL, failed)
	}
	return bad(details)
}

// refCycle finds the reference that only leads back to itself, if that is why
// a validation failed.
//
// The validator reports such a cycle as a failure of the value, although the
// schema is at fault.
func refCycle(e *jsonschema.ValidationError) *kind.RefCycle {
	if k, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return k
	}
	for _, cause := range e.Causes {
		if k := refCycle(cause); k != nil {
			return k
		}
	}
	return nil
}

// schemaFault puts into one line why a schema does not compile.
func schemaFault(err error) string {
	var invalid *jsonschema.SchemaValidationError
	var details *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &details) {
		found := problems(details, nil)
		return strings.Join(found[:min(len(found), maxProblems)], "; ")
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// badSchema returns the error of a tool with an unusable declaration.
func (t *Tool) badSchema(why string, cause error) *Error {
	const most = 400
	return &Error{Code: InvalidSchema, ToolID: t.ID(), Err: cause,
		Message: fmt.Sprintf("Tool %s declares an unusable schema: %s. Its owner must correct it.", shown(t.ID()), text.Shorten(why, most))}
}
