package schemalimit

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compile(t *testing.T, text string) *Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("quoin:test", value(t, text)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("quoin:test")
	if err != nil {
		t.Fatal(err)
	}
	return New(s)
}

func value(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// forms are n alternatives that lead one level down, for a value that fits none.
func forms(n int) string {
	return `{"anyOf":[` + strings.Repeat(`{"required":["p"],"properties":{"c":{"items":{"$ref":"#"}}}},`, n) + `false]}`
}

func nested(depth int) string {
	return strings.Repeat(`{"p":1,"c":[`, depth) + `{}` + strings.Repeat(`]}`, depth)
}

// TestSteps: what multiplies ends, and what is merely large does not.
func TestSteps(t *testing.T) {
	dag := `{"$ref":"#/$defs/n0","$defs":{`
	for i := range 26 {
		dag += fmt.Sprintf(`"n%d":{"anyOf":[{"$ref":"#/$defs/n%d"},{"$ref":"#/$defs/n%d"}]},`, i, i+1, i+1)
	}
	dag += `"n26":{"type":"string"}}}`
	tree := `{"type":"object","required":["v"],"properties":{"v":{"type":"string","format":"date"},"c":{"items":{"$ref":"#"}}},"additionalProperties":false}`
	leaves := `{"v":"2026-01-02","c":[` + strings.Repeat(`{"v":"2026-01-02"},`, 5000) + `{"v":"2026-01-02"}]}`
	for _, tc := range []struct {
		name, schema, value string
		steps, valid        bool
	}{
		{"two recursive forms, deep", forms(2), nested(40), true, false},
		{"two recursive forms, shallow", forms(2), nested(5), false, false},
		{"an older draft", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":` + strings.ReplaceAll(forms(2), `"#"`, `"#/definitions/n"`) + `},"$ref":"#/definitions/n"}`, nested(40), true, false},
		{"a graph of references", dag, `1`, true, false},
		{"a tree", tree, leaves, false, true},
		{"a tree with a fault", tree, strings.Replace(leaves, "2026", "x", 1), false, false},
		{"a long list of a plain schema", `{"items":{"type":"integer"}}`, `[` + strings.Repeat("1,", 200_000) + `1]`, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, v := compile(t, tc.schema), value(t, tc.value)
			for range 2 { // each value has all the steps
				err := s.Validate(v)
				if errors.Is(err, ErrSteps) != tc.steps || (err == nil) != tc.valid {
					t.Fatalf("%.300v", err)
				}
			}
		})
	}
}

// TestAtOnce holds values against one schema at the same time.
func TestAtOnce(t *testing.T) {
	s, good, bad := compile(t, forms(2)), value(t, `[]`), value(t, nested(40))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := s.Validate(good); err != nil {
				t.Errorf("%v", err)
			}
			if err := s.Validate(bad); !errors.Is(err, ErrSteps) {
				t.Errorf("%.300v", err)
			}
		})
	}
	all.Wait()
}
