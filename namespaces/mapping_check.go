package namespaces

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// Check reports whether the mapping can produce inputs for a tool with the
// given input schema: that Positional, Rest and Fixed name properties the
// schema has, that Rest may hold an array and a fixed value has a type its
// property allows, and, for MapPositional, that every required property gets a
// value from somewhere. It fails with MappingMismatch.
//
// A schema that names no properties, or says outright that it allows others,
// accepts every name. Only the top level is looked at, through local $ref,
// allOf, anyOf and oneOf.
func (m Mapping) Check(schema json.RawMessage) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if m.Kind == MapFunction || len(schema) == 0 {
		return nil
	}
	doc := jsonschema.Parse(schema)
	switch {
	case doc == nil && json.Valid(schema):
		return nil // too large to read: nothing is known
	case doc == nil:
		return mismatch("the tool's input schema is not valid JSON")
	}
	in := readProperties(doc, doc.Root())
	for _, name := range m.Positional {
		if !in.knows(name) {
			return in.unknown("positional", name)
		}
	}
	for _, name := range m.OptionNames {
		if !in.knows(name) {
			return in.unknown("option", name)
		}
	}
	if m.Rest != "" {
		if !in.knows(m.Rest) {
			return in.unknown("rest", m.Rest)
		}
		if types := in.types(m.Rest); types != nil && !slices.Contains(types, "array") {
			return mismatch("rest field %q must accept an array, but the tool's input schema says %s", m.Rest, strings.Join(types, " or "))
		}
	}
	if err := m.checkFixed(in); err != nil {
		return err
	}
	return m.checkRequired(in)
}

// checkFixed checks names and types of the fixed fields.
func (m Mapping) checkFixed(in *inputs) error {
	for _, name := range slices.Sorted(maps.Keys(m.Fixed)) {
		if !in.knows(name) {
			return in.unknown("fixed", name)
		}
		types, got := in.types(name), jsonType(m.Fixed[name])
		if types == nil || slices.Contains(types, got) || got == "integer" && slices.Contains(types, "number") {
			continue
		}
		return mismatch("fixed field %q has type %s, but the tool's input schema says %s", name, got, strings.Join(types, " or "))
	}
	return nil
}

// checkRequired finds required properties that no argument can reach.
func (m Mapping) checkRequired(in *inputs) error {
	if m.Kind != MapPositional || m.Options && len(m.OptionNames) == 0 {
		return nil
	}
	for _, name := range in.required {
		if _, fixed := m.Fixed[name]; !fixed && name != m.Rest && !slices.Contains(m.Positional, name) && !slices.Contains(m.OptionNames, name) {
			return mismatch("the tool requires %q, which this mapping never sets; add it to the positional or fixed fields", name)
		}
	}
	return nil
}

// readProperties reads the top level of a schema.
func readProperties(doc *jsonschema.Document, schema *jsonschema.Node) *inputs {
	in := &inputs{doc: doc, properties: map[string]*jsonschema.Node{}}
	in.read(schema, true, 0)
	return in
}

// inputs are what the top level of a schema says about properties.
type inputs struct {
	doc        *jsonschema.Document
	properties map[string]*jsonschema.Node
	required   []string
	open       bool // other properties are allowed in so many words
}

// maxSchemaHops bounds the way through $ref and combining keywords.
const maxSchemaHops = 16

// read gathers the properties of a schema. What is required counts only where
// it holds for every input.
func (in *inputs) read(schema *jsonschema.Node, always bool, hops int) {
	if !schema.Is(jsonschema.Object) || hops > maxSchemaHops {
		return
	}
	for _, p := range schema.Get("properties").Fields() {
		in.properties[p.Key] = p.Value
	}
	if always {
		in.required = append(in.required, schema.Get("required").Words()...)
	}
	more := schema.Get("additionalProperties")
	in.open = in.open || more != nil && !more.IsFalse() || len(schema.Get("patternProperties").Fields()) > 0
	if ref := schema.Get("$ref").Str(); ref != "" {
		target := in.doc.Target(ref)
		in.open = in.open || target == nil && !strings.HasPrefix(ref, "#") // elsewhere: nothing is known
		in.read(target, always, hops+1)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		for _, branch := range schema.Get(keyword).List() {
			in.read(branch, always && keyword == "allOf", hops+1)
		}
	}
}

// knows reports whether inputs may have the property.
func (in *inputs) knows(name string) bool {
	_, named := in.properties[name]
	return named || in.open || len(in.properties) == 0
}

// types returns the types a property allows, nil if it does not say.
func (in *inputs) types(name string) []string { return in.properties[name].Get("type").Words() }

// unknown makes the error of a field the schema does not have.
func (in *inputs) unknown(kind, name string) error {
	return mismatch("%s field %s is not in the tool's input schema; it has: %s", kind, quoteName(name),
		strings.Join(slices.Sorted(maps.Keys(in.properties)), ", "))
}

func mismatch(format string, args ...any) error {
	return &Error{Code: MappingMismatch, Message: fmt.Sprintf(format, args...)}
}

// jsonType names the schema type of a JSON value.
func jsonType(value json.RawMessage) string {
	n := jsonschema.Parse(value).Root()
	if n == nil {
		return "unknown"
	}
	switch n.Kind {
	case jsonschema.Null:
		return "null"
	case jsonschema.Bool:
		return "boolean"
	case jsonschema.String:
		return "string"
	case jsonschema.Array:
		return "array"
	case jsonschema.Number:
		if v, err := strconv.ParseFloat(n.Text, 64); err == nil && v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "object"
}
