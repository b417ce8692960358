package namespaces

import (
	"encoding/json"
	"fmt"
	"testing"
)

// read writes a place as text by what the walk tells of it.
func read(p Node) string {
	kinds, out := 0, ""
	if entries, n, ok := p.Object(); ok {
		kinds++
		out = fmt.Sprint("{", n)
		for key, child := range entries {
			out += " " + key + ":" + read(child)
		}
		out += "}"
	}
	if items, n, ok := p.Array(); ok {
		kinds++
		out = fmt.Sprint("[", n)
		for i, child := range items {
			out += fmt.Sprint(" ", i, ":") + read(child)
		}
		out += "]"
	}
	if v, ok := p.Value(); ok {
		kinds++
		out = string(v)
	}
	if c, ok := p.Call(); ok {
		kinds++
		out = c.Tool + "/" + c.Mapping.Kind.String()
	}
	if kinds != 1 {
		return fmt.Sprintf("of %d kinds", kinds)
	}
	return out
}

// TestWalk: a walk from the root finds everything, in order, once.
func TestWalk(t *testing.T) {
	s, err := Serialize(map[string]any{"b": []any{1, "x", Call{Tool: "t", Mapping: Mapping{Kind: MapPositional, Positional: []string{"p"}}}},
		"a": map[string]any{"n": nil, "t": true}, "c": Call{Tool: "u"}, "d": []any{}, "e": json.RawMessage(`{}`)}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{5 a:{2 n:null t:true} b:[3 0:1 1:"x" 2:t/positional] c:u/default d:[0] e:{0}}`
	if got := read(s.Root()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, empty := range []*Scope{nil, {}} {
		if got := read(empty.Root()); got != "{0}" {
			t.Errorf("an empty scope reads %s", got)
		}
	}
	if got := read(Node{}); got != "of 0 kinds" {
		t.Errorf("the zero Node reads %s", got)
	}
	entries, _, _ := s.Root().Object()
	for range entries { // stopping is fine
		break
	}
}
