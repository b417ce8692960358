package namespaces

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawKey draws a key that is allowed, odd ones included.
func drawKey(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z_$][a-zA-Z0-9_$]{0,6}`),
		rapid.StringN(1, 5, -1),
		rapid.SampledFrom([]string{"0", "01", "a.b", "length", "toString", " ", "é", "\u2028", `"`, `\`, "<"}),
	).Filter(func(k string) bool { return checkKey(k, nil) == nil }).Draw(t, "key")
}

// drawMapping draws a mapping that is valid.
func drawMapping(t *rapid.T) Mapping {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,5}`), 3, 6, rapid.ID).Draw(t, "names")
	fixed := map[string]json.RawMessage{names[0]: json.RawMessage(rapid.SampledFrom([]string{"1", `"x"`, `{"a":[null]}`, " [ 1 ] "}).Draw(t, "fixed"))}
	return rapid.SampledFrom([]Mapping{
		{},
		{Fixed: fixed},
		{Kind: MapPositional, Positional: names[2:]},
		{Kind: MapPositional, Positional: names[2:], Rest: names[1], Fixed: fixed},
		{Kind: MapPositional, Positional: names[2:], Options: true},
		{Kind: MapPositional, Positional: names[2:], Options: true, OptionNames: names[:2]},
		{Kind: MapFunction, Mapper: names[0]},
	}).Draw(t, "mapping")
}

// drawValue draws what a CreateScope may return.
func drawValue(t *rapid.T, depth int) any {
	kinds := []string{"null", "bool", "int", "float", "string", "call"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "int":
		return rapid.Int64().Draw(t, "int")
	case "float":
		return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{1 << 53, -1 << 60, 1e20, 1e21})).Draw(t, "float")
	case "string":
		return rapid.String().Draw(t, "string")
	case "call":
		c := Call{Tool: rapid.StringMatching(`[a-z_]{1,8}`).Draw(t, "tool"), Mapping: drawMapping(t)}
		if rapid.Bool().Draw(t, "class") {
			c.Returns, c.ReturnsIn = sessions(), rapid.SampledFrom([]string{"", "list"}).Draw(t, "in")
		}
		return c
	case "object":
		return drawObject(t, depth-1)
	case "array":
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawValue(t, depth-1) }), 0, 4).Draw(t, "array")
	}
	return nil
}

func drawObject(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "size") {
		key := drawKey(t)
		value := drawValue(t, depth)
		if _, callable := value.(Call); callable && key == "then" {
			continue
		}
		object[key] = value
	}
	return object
}

// callsOf lists the callables of a scope with all there is to know of them.
func callsOf(s *Scope) []string {
	var list []string
	for path, c := range s.Calls() {
		list = append(list, strings.Join(path, "\n")+" "+string(c.encode(nil)))
	}
	return list
}

// A scope that has crossed a process boundary is the same scope.
func TestScopeSurvivesTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := drawObject(t, 4)
		s, err := Serialize(value, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, encode := range []func() ([]byte, error){s.MarshalJSON, func() ([]byte, error) { return json.Marshal(s) }} {
			data, err := encode()
			if err != nil {
				t.Fatal(err)
			}
			var back Scope
			if err := json.Unmarshal(data, &back); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(s.Guest(), back.Guest()) {
				t.Fatalf("guest forms differ:\n%s\n%s", s.Guest(), back.Guest())
			}
			if diff := cmp.Diff(callsOf(s), callsOf(&back)); diff != "" {
				t.Fatal(diff)
			}
		}
		checkPaths(t, s, value, nil)
	})
}

// checkPaths resolves every path of a value: the paths of calls give the call,
// and no others resolve.
func checkPaths(t *rapid.T, s *Scope, v any, path []string) {
	got, err := s.Resolve(path)
	call, callable := v.(Call)
	if callable != (err == nil) || callable && got.Tool != call.Tool {
		t.Fatalf("%q: %v, %v; the value is %#v", path, got, err, v)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			checkPaths(t, s, value, append(slices.Clone(path), key))
		}
	case []any:
		for i, value := range v {
			checkPaths(t, s, value, append(slices.Clone(path), string(rune('0'+i))))
		}
	}
}
