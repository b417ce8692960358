//go:build linux

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// manifestOf is a good manifest but for one field.
func manifestOf(field string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(field, `"`), `"`)
	text := "{" + field
	for _, f := range []string{`"id": "issues"`, `"version": "1"`, `"protocol": 1`, `"command": "./issues"`} {
		if !strings.HasPrefix(f, `"`+name+`"`) {
			text += ", " + f
		}
	}
	return text + "}"
}

// manifestFieldValues are values of fields at the border between right and wrong.
var manifestFieldValues = map[string][]string{
	"$schema":     {`""`, `"x"`, `5`, `null`},
	"id":          {`"a"`, `"A"`, `"a-"`, `"-a"`, `"a b"`, `"` + strings.Repeat("a", 63) + `"`, `"` + strings.Repeat("a", 64) + `"`, `"a\n"`, `5`, `null`, `[]`},
	"version":     {`"1"`, `"1.0.0-rc.1+b_2"`, `""`, `".1"`, `"` + strings.Repeat("1", 65) + `"`, `"é"`, `1`, `null`},
	"protocol":    {`1`, `1.0`, `1e0`, `10e-1`, `0`, `-1`, `1.5`, `3`, `1e30`, `1e400`, `"1"`, `true`, `null`, `[1]`, `{}`},
	"description": {`""`, `"x"`, `"\ud800"`, `null`, `5`, `["x"]`},
	"command": {`"a"`, `"./a"`, `"././a"`, `"a/b"`, `"a/./b"`, `"a//b"`, `"a/"`, `"/a"`, `"../a"`, `"a/../b"`, `"..a"`, `"..."`, `".a"`, `"."`, `"./"`,
		`".."`, `""`, `"a\\b"`, `"c:a"`, `"a b"`, `"a\u0000"`, `"a\n"`, `"é"`, `"` + strings.Repeat("é", 255) + `"`, `"` + strings.Repeat("é", 256) + `"`, `5`, `null`, `[]`,
		`{}`, `{"linux/amd64": "a"}`, `{"linux/amd64": "../a"}`, `{"linux": "a"}`, `{"linux/amd64": "a", "windows/arm64": "b.exe"}`, `{"linux/amd64": null}`, `{"": "a"}`},
	"files": {`[]`, `["a"]`, `["a", "b/c"]`, `["a", "a"]`, `["../a"]`, `[5]`, `[null]`, `[""]`, `null`, `"a"`, `{}`, manyFiles(256), manyFiles(257)},
	"sha256": {`{}`, `null`, `{"linux/amd64": "` + strings.Repeat("a", 64) + `"}`, `{"linux/amd64": "` + strings.Repeat("A", 64) + `"}`,
		`{"linux/amd64": "ab"}`, `{"linux/amd64": null}`, `{"Linux/amd64": "` + strings.Repeat("a", 64) + `"}`, `"x"`, `[]`},
	"configSchema": {`{"type": "object"}`, `{"type": "object", "properties": {"a": {"type": "string"}}}`, `{}`, `{"type": "array"}`, `{"type": ["object"]}`, `true`, `null`, `[]`, `"object"`},
	"extra":        {`1`, `null`},
	"ID":           {`"a"`},
}

func manyFiles(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"f%d"`, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// The published schema and the parser accept the same texts.
func TestManifestSchemaIsTheParser(t *testing.T) {
	texts := []string{``, `{`, `null`, `[]`, `"x"`, `5`, `true`, `{}`, `{"id": "a"}`, `{} {}`}
	for field, values := range manifestFieldValues {
		for _, v := range values {
			texts = append(texts, manifestOf(fmt.Sprintf("%q: %s", field, v)))
		}
	}
	for _, f := range manifestFields {
		if _, ok := manifestFieldValues[f.name]; !ok {
			t.Errorf("the table has no values for the field %q", f.name)
		}
	}
	accepted := 0
	for _, text := range texts {
		accepted += sameVerdict(t, []byte(text))
	}
	if accepted < 20 || accepted > len(texts)-20 {
		t.Errorf("%d of %d texts were accepted; the table is to have both kinds", accepted, len(texts))
	}
}

// sameVerdict requires that parser and schema agree on a text, and returns 1 if
// they accept it. Only about a configSchema that is no JSON Schema the parser may
// know better.
func sameVerdict(t *testing.T, text []byte) int {
	t.Helper()
	schema, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	_, parsed := Parse(text)
	checked := ValidateJSON(schema, text)
	switch {
	case parsed == nil && checked == nil:
		return 1
	case parsed == nil:
		t.Errorf("the schema refuses what the parser accepts: %s\n%v", text, checked)
	case checked == nil && !onlyConfigSchema(parsed):
		t.Errorf("the schema accepts what the parser refuses: %s\n%v", text, parsed)
	}
	return 0
}

func onlyConfigSchema(err error) bool {
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, e := range list {
		var m *Error
		if !errors.As(e, &m) || m.Field != "configSchema" {
			return false
		}
	}
	return true
}

// Every field that the parser reads is described, and no other.
func TestManifestSchemaHasTheFields(t *testing.T) {
	text, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if len(schema.Properties) != len(manifestFields) || len(manifestProperties) != len(manifestFields) {
		t.Errorf("%d properties of %d described, %d fields", len(schema.Properties), len(manifestProperties), len(manifestFields))
	}
	for name, p := range schema.Properties {
		if p.Description == "" {
			t.Errorf("field %q has no description", name)
		}
	}
}
