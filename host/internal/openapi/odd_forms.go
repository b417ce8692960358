package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// truth reads a value that is to be true or false. Documents also write it as a text, and
// YAML has yes and on. It is not known of anything else.
func truth(n *jsonschema.Node) (value, known bool) {
	switch strings.ToLower(strings.TrimSpace(word(n))) {
	case "true", "yes", "on", "y", "1":
		return true, true
	case "false", "no", "off", "n", "0":
		return false, true
	}
	return false, false
}

// isTrue reports whether a value is surely true.
func isTrue(n *jsonschema.Node) bool {
	value, _ := truth(n)
	return value
}

// isFalse reports whether a value is surely false.
func isFalse(n *jsonschema.Node) bool {
	value, known := truth(n)
	return known && !value
}

// mayBeTrue reports whether a value is given and not surely false. It is for what must not
// be left out.
func mayBeTrue(n *jsonschema.Node) bool {
	return given(n) && !isFalse(n)
}

// given reports whether there is a value.
func given(n *jsonschema.Node) bool { return n != nil && !n.Is(jsonschema.Null) }

// number returns a number as JSON, also one that is written as a text.
func number(n *jsonschema.Node) (json.RawMessage, bool) {
	if n.Is(jsonschema.Number) {
		return n.Raw, true
	}
	s := strings.TrimSpace(n.Str())
	if s == "" || !strings.Contains("-0123456789", s[:1]) || !json.Valid([]byte(s)) {
		return nil, false
	}
	return json.RawMessage(s), true
}

// parametersOf returns the parameters of an operation or of a path. Some documents have an
// object of them by name instead of a list.
func parametersOf(n *jsonschema.Node) (all []*jsonschema.Node, reason string) {
	list := n.Get("parameters")
	switch {
	case list.Is(jsonschema.Object):
		for _, m := range list.Members {
			p := m.Value
			if p.Is(jsonschema.Object) && p.Get("name") == nil && p.Get("$ref") == nil {
				name := jsonschema.Member{Key: "name", Value: &jsonschema.Node{Kind: jsonschema.String, Text: m.Key}}
				p = &jsonschema.Node{Kind: jsonschema.Object, Members: append(slices.Clone(p.Members), name)}
			}
			all = append(all, p)
		}
	case given(list) && !list.Is(jsonschema.Array):
		return nil, "its parameters are not a list"
	}
	return append(all, list.List()...), ""
}
