package catalog

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// Numbers that would keep the validator busy for minutes are refused before it sees
// them, in inputs, results and schemas; all others pass, and so does text.
func TestWildNumbers(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"array","items":{"type":"number","multipleOf":0.5}}}}`
	long := strings.Repeat("9", 1<<20)
	c, err := New([]Tool{
		{Name: "t", Description: "d", Parameters: json.RawMessage(schema), Output: json.RawMessage(schema)},
		{Name: "bad", Description: "d", Parameters: json.RawMessage(`{"type":"object","maxProperties":` + long[:1<<10] + `}`)},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const id = "quoin:core:t"
	code := func(err error) Code {
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T: %v", err, err)
		}
		if e == nil {
			return ""
		}
		return e.Code
	}
	for _, n := range []string{long, "-" + long, "0." + long, "1e999999", "1E+999999", "1e-999999", "1e-999999999", `2,"a\\",1e0099999`} {
		value := json.RawMessage(`{"a":[` + n + `]}`)
		if got := code(c.ValidateInput(id, value)); got != InvalidInput {
			t.Errorf("the input %.40s: %q", value, got)
		}
		if got := code(c.ValidateOutput(id, value)); got != InvalidOutput {
			t.Errorf("the result %.40s: %q", value, got)
		}
	}
	for _, n := range []string{"1.7976931348623157e308", "-5e+307", "0", strings.Repeat("1", 80), "1.5,2.5e1", ""} {
		if err := c.ValidateInput(id, json.RawMessage(`{"a":[`+n+`],"text":"1e999999 \\\" `+long+`"}`)); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	if got := code(c.ValidateInput("quoin:core:bad", json.RawMessage(`{}`))); got != InvalidSchema {
		t.Errorf("the schema: %q", got)
	}
}

// TestSchemasThatMultiply: a recursive schema with alternatives does not keep the
// host busy.
func TestSchemasThatMultiply(t *testing.T) {
	form := `{"required":["p"],"properties":{"c":{"items":{"$ref":"#/$defs/n"}}}}`
	schema := `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[` + form + `,` + form + `]}}}`
	c, err := New([]Tool{{Name: "t", Description: "d", Parameters: json.RawMessage(schema), Output: json.RawMessage(schema)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat(`{"p":1,"c":[`, 40) + `{}` + strings.Repeat(`]}`, 40)
	for what, check := range map[string]func(string, json.RawMessage) error{"input": c.ValidateInput, "output": c.ValidateOutput} {
		err := check("quoin:core:t", json.RawMessage(`{"n":`+deep+`}`))
		var e *Error
		if !errors.As(err, &e) || e.Code != InvalidSchema || !strings.Contains(e.Message, "50000 steps") {
			t.Errorf("%s: %.300v", what, err)
		}
		if err := check("quoin:core:t", json.RawMessage(`{"n":{"p":1,"c":[{"p":2}]}}`)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
