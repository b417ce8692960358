package namespaces

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return &Error{Code: MappingMismatch, Message: "the tool's input schema is not valid JSON", Err: err}
	}
	in := inputs{root: root, properties: map[string]any{}}
	in.read(root, true, 0)
	for _, name := range m.Positional {
		if !in.knows(name) {
			return in.unknown("positional", name)
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
	if err := m.checkFixed(&in); err != nil {
		return err
	}
	return m.checkRequired(&in)
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
	if m.Kind != MapPositional {
		return nil
	}
	for _, name := range in.required {
		if _, fixed := m.Fixed[name]; !fixed && name != m.Rest && !slices.Contains(m.Positional, name) {
			return mismatch("the tool requires %q, which this mapping never sets; add it to the positional or fixed fields", name)
		}
	}
	return nil
}

// inputs are what the top level of an input schema says about properties.
type inputs struct {
	root       any
	properties map[string]any
	required   []string
	open       bool // other properties are allowed in so many words
}

// maxSchemaHops bounds the way through $ref and combining keywords.
const maxSchemaHops = 16

// read gathers the properties of a schema. What is required counts only where
// it holds for every input.
func (in *inputs) read(schema any, always bool, hops int) {
	object, ok := schema.(map[string]any)
	if !ok || hops > maxSchemaHops {
		return
	}
	if properties, ok := object["properties"].(map[string]any); ok {
		maps.Copy(in.properties, properties)
	}
	if required, ok := object["required"].([]any); ok && always {
		for _, name := range required {
			if name, ok := name.(string); ok {
				in.required = append(in.required, name)
			}
		}
	}
	if more, given := object["additionalProperties"]; given && more != false {
		in.open = true
	}
	if patterns, ok := object["patternProperties"].(map[string]any); ok && len(patterns) > 0 {
		in.open = true
	}
	if ref, ok := object["$ref"].(string); ok {
		in.read(in.target(ref), always, hops+1)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := object[keyword].([]any)
		for _, branch := range branches {
			in.read(branch, always && keyword == "allOf", hops+1)
		}
	}
}

// target follows a reference inside the document: "#" or "#/$defs/Name".
func (in *inputs) target(ref string) any {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		in.open = true // elsewhere: nothing is known
		return nil
	}
	at := in.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		object, _ := at.(map[string]any)
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return at
}

// knows reports whether inputs may have the property.
func (in *inputs) knows(name string) bool {
	_, named := in.properties[name]
	return named || in.open || len(in.properties) == 0
}

// types returns the types a property allows, nil if it does not say.
func (in *inputs) types(name string) []string {
	property, _ := in.properties[name].(map[string]any)
	switch t := property["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var types []string
		for _, name := range t {
			if name, ok := name.(string); ok {
				types = append(types, name)
			}
		}
		return types
	}
	return nil
}

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
	var v any
	if json.Unmarshal(value, &v) != nil {
		return "unknown"
	}
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	}
	return "object"
}
