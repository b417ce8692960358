package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quoinhq/quoin/internal/schemalimit"
)

// maxSchemaBytes bounds one JSON Schema.
const maxSchemaBytes = 256 << 10

// refusedLoader keeps schemas from reading files or the network of the host.
type refusedLoader struct{}

func (refusedLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s: a schema must be self-contained", url)
}

// compileSchema reads a JSON Schema. It must be self-contained. A panic would be the
// compiler's bug, but the schema is somebody else's, and the process is not.
func compileSchema(raw json.RawMessage) (_ *schemalimit.Schema, doc any, err error) {
	if len(raw) > maxSchemaBytes {
		return nil, nil, fmt.Errorf("the schema has %d bytes; the limit is %d", len(raw), maxSchemaBytes)
	}
	if n := schemalimit.WildNumber(raw); n != "" {
		return nil, nil, fmt.Errorf("the schema has the number %s…, which is too long or has too large an exponent", n)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be compiled: %v", p)
		}
	}()
	doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refusedLoader{})
	const name = "quoin:schema"
	if err := c.AddResource(name, doc); err != nil {
		return nil, nil, err
	}
	s, err := c.Compile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("the schema is not a valid JSON Schema: %w", err)
	}
	return schemalimit.New(s), doc, nil
}

// checkSchema reports whether raw is a usable schema, of type object if asked.
func checkSchema(raw json.RawMessage, object bool) error {
	_, doc, err := compileSchema(raw)
	if err != nil || !object {
		return err
	}
	m, ok := doc.(map[string]any)
	if !ok || m["type"] != "object" {
		return errors.New(`the schema does not say "type": "object"`)
	}
	return nil
}

// validateAgainst checks a JSON value against a schema that compiles. The value may
// be a program's: it must not be able to make the validator panic.
func validateAgainst(schema, value json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be applied to the value: %v", p)
		}
	}()
	if n := schemalimit.WildNumber(value); n != "" {
		return fmt.Errorf("it has the number %s…, which is too long or has too large an exponent", n)
	}
	s, _, err := compileSchema(schema)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// ValidateJSON reports whether a JSON value is what a schema describes. The error says
// where it is not, or why the schema is none.
func ValidateJSON(schema, value json.RawMessage) error { return validateAgainst(schema, value) }
