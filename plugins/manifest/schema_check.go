package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quoinhq/quoin/internal/schemalimit"
)

// maxSchemaBytes bounds one JSON Schema.
const MaxSchemaBytes = 256 << 10

// refusedLoader keeps schemas from reading files or the network of the host.
type refusedLoader struct{}

func (refusedLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s: a schema must be self-contained", url)
}

// compileSchema compiles a self-contained JSON Schema. A panic of the compiler becomes an
// error: the schema is of unknown origin, and the process is the host's.
func compileSchema(raw json.RawMessage) (_ *schemalimit.Schema, doc any, err error) {
	if len(raw) > MaxSchemaBytes {
		return nil, nil, fmt.Errorf("the schema has %d bytes; the limit is %d", len(raw), MaxSchemaBytes)
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

// CheckSchema returns an error if raw is not a JSON Schema that a host can use: one that is
// self-contained, at most MaxSchemaBytes long, and compiles. With object, its type must be
// "object", like the type of every input and configuration.
func CheckSchema(raw json.RawMessage, object bool) error {
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

// ValidateJSON validates a JSON value against a JSON Schema. The error is a
// *jsonschema.ValidationError if the value does not match, and otherwise says what is
// wrong with the schema or the value. Neither can make ValidateJSON panic or run for
// long: both may come from a plugin or a program.
func ValidateJSON(schema, value json.RawMessage) (err error) {
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
