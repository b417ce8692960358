package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/internal/text"
)

// validate checks an input against a schema as a tool's.
func validate(t *testing.T, schema, input string) error {
	t.Helper()
	return build(t, Tool{Name: "x", Owner: "p", Parameters: json.RawMessage(schema)}).ValidateInput("quoin:p:x", json.RawMessage(input))
}

func TestValidateInputMessages(t *testing.T) {
	const (
		expected = `. Expected: { repo: string, state?: "open"|"closed", limit?: integer }`
		nested   = `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
			"who":{"anyOf":[{"type":"string"},{"type":"null"}]},"a b":{"const":1},
			"form":{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}}},{"type":"object","properties":{"kind":{"const":"b"}}}]}}}`
		nestedExpected = `. Expected: { items?: { n: integer }[], who?: string|null, "a b"?: 1, form?: { kind?: "a", x?: integer }|{ kind?: "b" } }`
	)
	for _, test := range []struct{ schema, input, want string }{
		{issueSchema, `{"repo":"a"}`, ""},
		{issueSchema, `{"repo":"a","state":"open","limit":1}`, ""},
		{issueSchema, ``, `missing "repo"` + expected},
		{issueSchema, ` null `, `missing "repo"` + expected},
		{issueSchema, `{"repo":1}`, `repo: is number but must be string` + expected},
		{issueSchema, `{"repo":"a","state":"opne"}`, `state: is "opne" but must be one of "open", "closed"` + expected},
		{issueSchema, `{"repo":"a","signal":{}}`, `unknown "signal" (a signal is given after the input, as in f(input, {signal}))` + expected},
		{issueSchema, `{"repo":"a","limt":1}`, `unknown "limt" (did you mean "limit"?)` + expected},
		{issueSchema, `{"repo":"a","zebra":1,"yak":2}`, `unknown "yak", "zebra"` + expected},
		{issueSchema, `{"limit":"x","state":1}`, `missing "repo"; limit: is string but must be integer; state: is number but must be string` + expected},
		{issueSchema, `[1]`, `is array but must be object` + expected},
		{issueSchema, `{"repo":`, `it is not valid JSON` + expected},
		{issueSchema, `{"repo":"a"} {}`, `it is not valid JSON` + expected},
		{nested, `{"items":[{"n":1},{"n":"x"},{}]}`, `items[1].n: is string but must be integer; items[2]: missing "n"` + nestedExpected},
		{nested, `{"who":1}`, `who: is number but must be null or string` + nestedExpected},
		{nested, `{"a b":2}`, `["a b"]: is 2 but must be 1` + nestedExpected},
		{nested, `{"form":3}`, `form: is number but must be object` + nestedExpected},
		{nested, `{"form":{"x":1}}`, `form: fits more than one of the allowed forms; leave out what tells them apart` + nestedExpected},
		{nested, `{"form":{"kind":"c"}}`, `form.kind: is "c" but must be "a"` + nestedExpected},
		{`{"properties":{"s":{"anyOf":[{"enum":["a"],"type":"string"},{"type":"null"}]}}}`, `{"s":"b"}`, `s: is "b" but must be one of "a". Expected: { s?: "a"|null }`},
		{`{"properties":{"s":{"anyOf":[{"enum":["a"]},{"enum":["b"]}]}}}`, `{"s":"c"}`, `s: fits none of the 2 allowed forms. Expected: { s?: "a"|"b" }`},
		{`{"not":{}}`, `{}`, `has a form that is not allowed. Expected: unknown`},
		{`false`, `{}`, `is not allowed. Expected: never`},
		{`true`, `7`, ""},
		{`{}`, `{"any":"thing"}`, ""},
		{``, `{"any":"thing"}`, ""},
		{``, ``, ""},
		{``, `[1]`, `it must be an object. Expected: {}`},
	} {
		err := validate(t, test.schema, test.input)
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", test.input, err)
			}
			continue
		}
		want := "Invalid input for tool quoin:p:x: " + test.want
		if !errors.Is(err, InvalidInput) || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", test.input, err, want)
		}
		if typed := (*Error)(nil); errors.As(err, &typed) && typed.ToolID != "quoin:p:x" {
			t.Errorf("%s: tool id %q", test.input, typed.ToolID)
		}
	}
}

func TestValidationMessagesAreBounded(t *testing.T) {
	var input strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&input, `,"%s%d":%d`, strings.Repeat("k", 300), i, i)
	}
	for name, err := range map[string]error{
		"unknown properties": validate(t, issueSchema, `{"repo":"a"`+input.String()+`}`),
		"long value":         validate(t, issueSchema, `{"repo":"a","state":"`+strings.Repeat("x", 1<<20)+`"}`),
		"many problems":      validate(t, `{"items":{"type":"string"}}`, "[0"+strings.Repeat(",0", 5000)+"]"),
		"deep place": validate(t, `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","additionalProperties":{"$ref":"#/$defs/n"}}}}`,
			strings.Repeat(`{"aaaaaaaaaaaaaaaaaaaa":`, 200)+"1"+strings.Repeat("}", 200)),
	} {
		if !errors.Is(err, InvalidInput) || len(err.Error()) > 2500 {
			t.Errorf("%s: %d bytes: %s", name, len(fmt.Sprint(err)), text.Shorten(fmt.Sprint(err), 300))
		}
	}
	err := validate(t, `{"items":{"type":"string"}}`, `[1,2,3,4,5,6,7,8]`)
	if err == nil || !strings.Contains(err.Error(), "; and 3 more. Expected: unknown[]") && !strings.Contains(err.Error(), "; and 3 more. Expected: string[]") {
		t.Errorf("many problems: %v", err)
	}
}

func TestUnusableSchemas(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte("{}")) // a test's server
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ schema, says string }{
		"no JSON":            {`{`, "not valid JSON"},
		"no schema":          {`{"type":"objekt"}`, `type: is "objekt" but must be one of "array", "boolean"`},
		"a number":           {`1`, ""},
		"remote reference":   {`{"$ref":"` + server.URL + `/s.json"}`, "references outside the schema are not loaded"},
		"remote metaschema":  {`{"$schema":"` + server.URL + `/s.json"}`, "references outside the schema are not loaded"},
		"file reference":     {`{"$ref":"file://` + file + `"}`, "references outside the schema are not loaded"},
		"relative reference": {`{"$ref":"other.json"}`, "references outside the schema are not loaded"},
		"dangling reference": {`{"$ref":"#/$defs/none"}`, "none"},
		"endless reference":  {`{"$ref":"#"}`, "refers to itself without end"},
		"too large":          {`{"description":"` + strings.Repeat("x", 600<<10) + `"}`, "limit is 524288"},
	} {
		err := validate(t, test.schema, `{}`)
		if !errors.Is(err, InvalidSchema) || !strings.Contains(err.Error(), test.says) ||
			!strings.HasPrefix(err.Error(), "Tool quoin:p:x declares an unusable schema: ") || len(err.Error()) > 700 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("schemas made %d requests", asked.Load())
	}
}

// TestUnusableSchemasOfServers: a server judges the input of its tool if its schema cannot.
func TestUnusableSchemasOfServers(t *testing.T) {
	for name, schema := range map[string]string{
		"dangling reference": `{"$ref":"#/$defs/none"}`, "endless reference": `{"$ref":"#"}`, "no schema": `{"type":"objekt"}`,
	} {
		c, err := New([]Tool{{Source: SourceMCP, Owner: "s", Name: "x", Parameters: json.RawMessage(schema)}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.ValidateInput("mcp:s:x", json.RawMessage(`{"a":1}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.ValidateInput("mcp:s:x", json.RawMessage(`[1]`)); !errors.Is(err, InvalidInput) {
			t.Errorf("%s, and a list: %v", name, err)
		}
	}
}

func TestDraftsAndPatterns(t *testing.T) {
	for _, draft := range []string{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"} {
		schema := `{"$schema":"` + draft + `","$id":"https://example.com/tool","type":"object","properties":{"a":{"type":"string","pattern":"^x"}}}`
		if err := validate(t, schema, `{"a":"xy"}`); err != nil {
			t.Errorf("%s: %v", draft, err)
		}
		if err := validate(t, schema, `{"a":"y"}`); !errors.Is(err, InvalidInput) {
			t.Errorf("%s: %v", draft, err)
		}
	}
	// A pattern only JavaScript knows is left to the tool.
	const foreign = `{"properties":{"a":{"type":"string","pattern":"^(?!x)"},"pattern":{"type":"integer"}},
		"patternProperties":{"(?=z)":{"type":"integer"}},"additionalProperties":false,"default":{"pattern":"(?!"},"enum":[{"pattern":"(?!"},{"a":"x"},{"b":1}]}`
	if err := validate(t, foreign, `{"a":"x"}`); err != nil {
		t.Errorf("a foreign pattern: %v", err)
	}
	if err := validate(t, foreign, `{"b":1}`); err != nil {
		t.Errorf("what a foreign pattern allows: %v", err)
	}
	if err := validate(t, foreign, `{"pattern":"(?!"}`); !errors.Is(err, InvalidInput) {
		t.Errorf("a property named pattern: %v", err)
	}
}

func TestValidateInputByID(t *testing.T) {
	c := fixture(t)
	if err := c.ValidateInput("list_issues", nil); !errors.Is(err, UnknownTool) {
		t.Errorf("by name: %v", err)
	}
	if err := c.ValidateInput("mcp:github:create_issue", nil); err != nil {
		t.Errorf("MCP tool: %v", err)
	}
}

func TestSchemasAreCompiledOnce(t *testing.T) {
	shared := NewSchemas(2)
	schemas := []string{`{"type":"object"}`, `{"type":"array"}`, `{"type":"string"}`}
	for range 3 {
		for i, s := range schemas {
			c, err := New([]Tool{{Name: "x", Parameters: json.RawMessage(s)}}, Options{Schemas: shared})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.ValidateInput("quoin:core:x", nil); (err == nil) != (i == 0) {
				t.Errorf("%s: %v", s, err)
			}
			if len(shared.compiled) > 2 || len(shared.order) != len(shared.compiled) {
				t.Errorf("the cache has %d schemas", len(shared.compiled))
			}
		}
	}
	s := NewSchemas(0)
	first, err := s.get(json.RawMessage(schemas[0]))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.get(json.RawMessage(schemas[0])); err != nil || again != first {
		t.Errorf("compiled twice, %v", err)
	}
}

func TestNormalInput(t *testing.T) {
	for in, want := range map[string]string{"": "{}", " ": "{}", "null": "{}", "\nnull ": "{}", "{}": "{}", `{"a":null}`: `{"a":null}`, "[]": "[]", "nul": "nul"} {
		if got := NormalInput(json.RawMessage(in)); string(got) != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}

func TestShape(t *testing.T) {
	for schema, want := range map[string]string{
		``:                  `{}`,
		`{}`:                `unknown`,
		`true`:              `unknown`,
		`false`:             `never`,
		`nonsense`:          `unknown`,
		`[1]`:               `unknown`,
		`"x"`:               `unknown`,
		issueSchema:         `{ repo: string, state?: "open"|"closed", limit?: integer }`,
		`{"type":"object"}`: `object`,
		`{"type":"object","additionalProperties":false}`:                                                `{}`,
		`{"type":"object","additionalProperties":{"type":"number"}}`:                                    `{ [key]: number }`,
		`{"properties":{"a":{}}}`:                                                                       `{ a?: unknown }`,
		`{"items":{"type":"string"}}`:                                                                   `string[]`,
		`{"type":"array"}`:                                                                              `array`,
		`{"type":"array","items":[{"type":"string"}]}`:                                                  `array`,
		`{"type":"array","items":{"enum":["a",1,null,true]}}`:                                           `("a"|1|null|true)[]`,
		`{"type":"array","items":{"type":"object","properties":{"a":{"type":["string","null"]}}}}`:      `{ a?: string|null }[]`,
		`{"anyOf":[{"type":"string"},{"type":"null"},{"type":"string"}]}`:                               `string|null`,
		`{"oneOf":[{"const":"a"},{"const":{"b":[1, 2]}}]}`:                                              `"a"|{"b":[1,2]}`,
		`{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`:     `{ a?: string } & { b?: string }`,
		`{"$ref":"#/$defs/A~1b","$defs":{"A/b":{"type":"integer"}}}`:                                    `integer`,
		`{"$ref":"#/$defs/none"}`:                                                                       `object`,
		`{"$ref":"https://example.com/x"}`:                                                              `object`,
		`{"$ref":"#"}`:                                                                                  `object`,
		`{"type":"object","properties":{"me":{"$ref":"#"},"x-y":{"type":"boolean"}},"required":["me"]}`: `{ me: { me: { me: { me: object, "x-y"?: boolean }, "x-y"?: boolean }, "x-y"?: boolean }, "x-y"?: boolean }`,
		`{"type":5,"properties":7,"required":{"a":1},"enum":null}`:                                      `unknown`,
		`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":7}`:     `{ z?: string, a?: string }`,
	} {
		if got := Shape(json.RawMessage(schema)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", schema, got, want)
		}
	}
	var many strings.Builder
	for i := range 500 {
		fmt.Fprintf(&many, `,"property_%d":{"enum":["%s"]}`, i, strings.Repeat("v", 500))
	}
	if got := Shape(json.RawMessage(`{"properties":{"a":{}` + many.String() + `}}`)); len(got) > 0 && got != "unknown" {
		t.Errorf("a schema too large to show: %d bytes", len(got))
	}
	if got := Shape(json.RawMessage(`{"properties":{"a":{}` + many.String()[:20_000] + `"]}}}`)); len(got) > 800 || !strings.HasSuffix(got, "… }") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	wide := `{"type":"integer"}`
	for range 6 { // 12^6 ways through
		wide = `{"anyOf":[` + strings.Repeat(wide+",", 1) + strings.Repeat(`{"$ref":"#"},`, 10) + `{"$ref":"#"}]}`
	}
	if got := Shape(json.RawMessage(wide)); len(got) > 2000 {
		t.Errorf("a wide schema: %d bytes", len(got))
	}
}

// FuzzValidate gives hostile schemas and inputs: whatever they are, there is
// no panic, and errors are typed and bounded.
func FuzzValidate(f *testing.F) {
	f.Add(issueSchema, `{"repo":1,"x":2}`)
	f.Add(`{"anyOf":[{"type":"string"},{"$ref":"#"}]}`, `[]`)
	f.Add(`{"patternProperties":{"(?!":{"type":"string"}}}`, `{"a":1}`)
	f.Add(`{"oneOf":[true,true]}`, `null`)
	f.Add(`{"type":""}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, input string) {
		c, err := New([]Tool{{Name: "x", Parameters: json.RawMessage(schema)}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = c.ValidateInput("quoin:core:x", json.RawMessage(input))
		var typed *Error
		if err != nil && (!errors.As(err, &typed) || len(err.Error()) > 4000) {
			t.Fatalf("%d bytes: %v", len(err.Error()), err)
		}
		if shape := Shape(json.RawMessage(schema)); shape == "" || len(shape) > 3000 {
			t.Fatalf("shape of %d bytes", len(shape))
		}
	})
}
