package mcp

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/catalog"
)

// TestRepairSchema: what cannot be read in an input schema is left out and named, and the
// rest stays. Each schema compiles then.
func TestRepairSchema(t *testing.T) {
	t.Parallel()
	const a = `"a":{"type":"string"}`
	for name, test := range map[string]struct{ in, want, dropped string }{
		"good":                      {`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]}},"required":["a"],"additionalProperties":false}`, "", ""},
		"draft 4":                   {`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"minimum":1,"exclusiveMinimum":true}}}`, "", ""},
		"draft 7 tuple":             {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"number"}],"additionalItems":false}}}`, "", ""},
		"recursion":                 {`{"$defs":{"t":{"properties":{"next":{"$ref":"#/$defs/t"},"all":{"$ref":"#"}}}},"$ref":"#/$defs/t"}`, "", ""},
		"reference to an id":        {`{"properties":{"a":{"$ref":"https://example.com/a"}},"$defs":{"x":{"$id":"https://example.com/a","type":"string"}}}`, "", ""},
		"anchor":                    {`{"properties":{"a":{"$ref":"#x"}},"$defs":{"x":{"$anchor":"x"}}}`, "", ""},
		"foreign keyword":           {`{"x-ui":{"required":null,"type":7},"example":5}`, "", ""},
		"values are no schemas":     {`{"default":{"type":7},"enum":[{"required":1}],"const":{"$ref":"x"},"examples":[{"$id":1}]}`, "", ""},
		"required null":             {`{"properties":{},"required":null}`, `{"properties":{}}`, "required is null"},
		"required false":            {`{"properties":{"a":{"type":"string","required":false}}}`, `{"properties":{` + a + `}}`, "properties.a.required is false"},
		"required of other things":  {`{"required":["a",5,"a"]}`, `{"required":["a"]}`, `required is ["a",5,"a"]`},
		"required as a property":    {`{"properties":{` + a + `,"required":["a"]}}`, `{"properties":{` + a + `}}`, `properties.required is ["a"]`},
		"property by a word":        {`{"properties":{"b":"string"}}`, `{"properties":{"b":{}}}`, `properties.b is "string"`},
		"properties null":           {`{"properties":null}`, `{}`, "properties is null"},
		"properties a list":         {`{"properties":[]}`, `{}`, "properties is []"},
		"tuple":                     {`{"properties":{"a":{"items":[{"type":"number"},{"type":"string"}],"additionalItems":false}}}`, `{"properties":{"a":{"prefixItems":[{"type":"number"},{"type":"string"}],"items":false}}}`, ""},
		"items null":                {`{"properties":{"a":{"type":"array","items":null}}}`, `{"properties":{"a":{"type":"array"}}}`, "properties.a.items is null"},
		"dangling reference":        {`{"properties":{"a":{"$ref":"#/$defs/Gone","title":"A"}}}`, `{"properties":{"a":{"title":"A"}}}`, `properties.a.$ref is "#/$defs/Gone"`},
		"reference to a text":       {`{"properties":{"a":{"$ref":"#/title"}},"title":"t"}`, `{"properties":{"a":{}},"title":"t"}`, `properties.a.$ref is "#/title"`},
		"reference elsewhere":       {`{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`, `{"properties":{"a":{}}}`, `properties.a.$ref is "https://example.com/s.json"`},
		"reference to a file":       {`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{"properties":{"a":{}}}`, `properties.a.$ref is "file:///etc/passwd"`},
		"the same id twice":         {`{"properties":{"a":{"$id":"https://e.com/x"},"b":{"$id":"https://e.com/x"}}}`, `{"properties":{"a":{"$id":"https://e.com/x"},"b":{}}}`, `properties.b.$id is "https://e.com/x"`},
		"id that is an anchor":      {`{"properties":{"a":{"$id":"#foo"}}}`, `{"properties":{"a":{}}}`, `properties.a.$id is "#foo"`},
		"the same anchor twice":     {`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, `{"$defs":{"a":{"$anchor":"x"},"b":{}}}`, `$defs.b.$anchor is "x"`},
		"wrong kinds":               {`{"properties":{"a":{"minLength":"1","maxLength":-1,"description":5,"title":null,"multipleOf":0,"minimum":"0","exclusiveMinimum":true,"uniqueItems":"yes","pattern":7,"format":null,"readOnly":1}}}`, `{"properties":{"a":{}}}`, ""},
		"unknown type":              {`{"properties":{"a":{"type":"String"},"b":{"type":["string","any"]},"c":{"type":[]},"d":{"type":null}}}`, `{"properties":{"a":{},"b":{},"c":{},"d":{}}}`, ""},
		"type of another":           {`{"type":"array","items":{"type":"string"}}`, `{"items":{"type":"string"}}`, `type is "array"`},
		"empty lists":               {`{"anyOf":[],"properties":{"a":{"enum":[],"allOf":null}}}`, `{"properties":{"a":{}}}`, ""},
		"alternatives that are bad": {`{"anyOf":[{"type":"object"},null,"x"]}`, `{"anyOf":[{"type":"object"},{},{}]}`, ""},
		"another draft":             {`{"$schema":"https://example.com/mine","properties":{` + a + `}}`, `{"properties":{` + a + `}}`, `$schema is "https://example.com/mine"`},
		"wild numbers":              {`{"properties":{"a":{"maximum":1e9999,"default":1e9999}}}`, `{"properties":{"a":{}}}`, ""},
		"dependencies":              {`{"dependencies":{"a":["b"],"b":{"required":7},"c":5},"dependentRequired":{"a":null}}`, `{"dependencies":{"a":["b"],"b":{}},"dependentRequired":{}}`, ""},
		"no object":                 {`"x"`, `{"type":"object"}`, "the schema is no object"},
		"true":                      {`true`, `{"type":"object"}`, "the schema is no object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.want == "" {
				test.want = test.in
			}
			got, dropped := repairSchema(json.RawMessage(test.in))
			if string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if test.dropped != "" && !slices.Equal(dropped, []string{test.dropped}) || (test.in == test.want) != (len(dropped) == 0) && name != "tuple" {
				t.Errorf("dropped %q, want %q", dropped, test.dropped)
			}
			if err := catalog.CheckInput(got, json.RawMessage(`{}`)); errors.Is(err, catalog.InvalidSchema) {
				t.Error(err)
			}
		})
	}
}

// FuzzRepairSchema: whatever a server calls a schema becomes one that needs no repair, and
// that a validator can read.
func FuzzRepairSchema(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"required":true}},"required":null}`, `{"items":[{},7],"$ref":"#/x","$id":"#a"}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true}`, `{"patternProperties":{"(":null},"enum":[1e99999]}`,
		`{"dependencies":{"a":["a","a"]},"$defs":{"a":{"$anchor":"a"},"b":{"$anchor":"a"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || inspect(raw) != nil {
			return
		}
		got, _ := inputSchema(raw)
		if again, dropped := repairSchema(got); len(dropped) > 0 || string(again) != string(got) {
			t.Fatalf("%s became %s, which lost %q at the second repair: %s", raw, got, dropped, again)
		}
	})
}

// TestUnreadIsToldOnce: the log names what was left out once, however often the list is read,
// and the status has it.
func TestUnreadIsToldOnce(t *testing.T) {
	t.Parallel()
	const broken = `{"tools":[{"name":"call","inputSchema":{"required":null}}`
	s, set := shifty(t, broken+`]}`)
	s.Pin = PinOff
	w := connect(t, Options{}, s)
	set(broken + `,{"name":"more"}]}`)
	w.call(t, "shifty", "call", `{}`)
	w.until(t, func() bool { return w.has("more") })
	if n := strings.Count(w.log.String(), "parts of input schemas"); n != 1 {
		t.Errorf("told %d times:\n%s", n, w.log)
	}
	want := []LeftOut{{Reason: unreadParts, Count: 1, Tools: []string{"call (required is null)"}, Parts: true}}
	if diff := cmp.Diff(want, w.Status()[0].LeftOut); diff != "" {
		t.Error(diff)
	}
}
