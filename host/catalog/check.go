package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/quoinhq/quoin/internal/schemalimit"
)

// Check reports what is wrong with the definition of a tool, as strictly as for a
// tool that is refused when it is defined rather than when it is first called:
// its name and owner (InvalidTool), schemas that cannot be used, and examples
// that are not JSON or do not fit the schemas (InvalidSchema).
func Check(t Tool) error {
	if err := t.normalize(); err != nil {
		return err
	}
	if err := t.checkSchema("parameters", t.Parameters); err != nil {
		return err
	}
	if err := t.checkSchema("output schema", t.Output); err != nil {
		return err
	}
	c, err := New([]Tool{t}, Options{})
	if err != nil {
		return err
	}
	for i, e := range t.Examples {
		err := c.ValidateInput(t.ID(), e.Input)
		if err == nil && len(e.Output) > 0 {
			err = c.ValidateOutput(t.ID(), e.Output)
		}
		var wrong *Error
		if errors.As(err, &wrong) {
			return &Error{Code: InvalidSchema, ToolID: t.ID(), Message: fmt.Sprintf("its example %d does not fit: %s", i+1, wrong.Message), Err: err}
		}
	}
	return nil
}

// checkSchema compiles one schema.
func (t *Tool) checkSchema(what string, schema json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	if _, err := compile(string(schema)); err != nil {
		return t.badSchema("its "+what+": "+schemaFault(err), err)
	}
	return nil
}

// ValidateOutput checks a result against the output schema of the tool with an
// exact id. It fails with InvalidOutput and a message that says what is wrong
// where; with InvalidSchema if the schema cannot be used; with UnknownTool. A
// tool without an output schema may return anything.
func (c *Catalog) ValidateOutput(id string, output json.RawMessage) error {
	t, ok := c.ByID(id)
	if !ok {
		return c.unknown(id)
	}
	if len(t.Output) == 0 {
		return nil
	}
	if n := schemalimit.WildNumber(output); n != "" {
		return t.badOutput([]string{"the number " + n + "… is too long or has too large an exponent"}, nil)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(output))
	if err != nil {
		return t.badOutput([]string{"it is not valid JSON"}, err)
	}
	schema, err := c.options.Schemas.get(t.Output)
	if err != nil {
		return t.badSchema(schemaFault(err), err)
	}
	return t.validate(schema, value, func(e *jsonschema.ValidationError) *Error {
		return t.badOutput(problems(e, propertyNames(t.Output)), e)
	})
}
