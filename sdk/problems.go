package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quoinhq/quoin/internal/text"
)

// problems lists what is wrong with v, each as "field: expected …, got …". It
// knows the keywords that inference and the field tags produce; it may find
// nothing in a value that other keywords refuse.
func problems(s *jsonschema.Schema, v any, path string) []string {
	if s == nil {
		return nil
	}
	if !hasType(s, v) || !inEnum(s, v) {
		return []string{fmt.Sprintf("%s: expected %s, got %s", fieldName(path), expectation(s), shortJSON(v))}
	}
	switch v := v.(type) {
	case map[string]any:
		return objectProblems(s, v, path)
	case []any:
		var found []string
		for i, item := range v {
			found = append(found, problems(s.Items, item, fmt.Sprintf("%s[%d]", path, i))...)
		}
		return found
	case float64:
		return numberProblems(s, v, path)
	case string:
		return lengthProblems(s, v, path)
	}
	return nil
}

func objectProblems(s *jsonschema.Schema, v map[string]any, path string) []string {
	var found []string
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			found = append(found, fmt.Sprintf("%s: missing, expected %s", fieldName(join(path, name)), expectation(s.Properties[name])))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		property, known := s.Properties[name]
		switch {
		case known:
			found = append(found, problems(property, v[name], join(path, name))...)
		case refusesAll(s.AdditionalProperties):
			found = append(found, fmt.Sprintf("%s: unknown field%s", fieldName(join(path, name)), suggestion(name, s)))
		default:
			found = append(found, problems(s.AdditionalProperties, v[name], join(path, name))...)
		}
	}
	return found
}

func numberProblems(s *jsonschema.Schema, f float64, path string) []string {
	var found []string
	if s.Minimum != nil && f < *s.Minimum {
		found = append(found, fmt.Sprintf("%s: expected at least %v, got %v", fieldName(path), *s.Minimum, f))
	}
	if s.Maximum != nil && f > *s.Maximum {
		found = append(found, fmt.Sprintf("%s: expected at most %v, got %v", fieldName(path), *s.Maximum, f))
	}
	return found
}

func lengthProblems(s *jsonschema.Schema, v, path string) []string {
	n := utf8.RuneCountInString(v)
	var found []string
	if s.MinLength != nil && n < *s.MinLength {
		found = append(found, fmt.Sprintf("%s: expected at least %d characters, got %d", fieldName(path), *s.MinLength, n))
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		found = append(found, fmt.Sprintf("%s: expected at most %d characters, got %d", fieldName(path), *s.MaxLength, n))
	}
	return found
}

// hasType reports whether v is of a type s allows.
func hasType(s *jsonschema.Schema, v any) bool {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 {
		return true
	}
	got := jsonType(v)
	return slices.Contains(types, got) || got == "integer" && slices.Contains(types, "number")
}

// jsonType is the JSON Schema type of a decoded value.
func jsonType(v any) string {
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
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

func inEnum(s *jsonschema.Schema, v any) bool {
	if s.Enum == nil {
		return true
	}
	return slices.ContainsFunc(s.Enum, func(e any) bool { return jsonschema.Equal(e, v) })
}

// expectation says in a few words what s wants.
func expectation(s *jsonschema.Schema) string {
	if s == nil {
		return "a value"
	}
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = shortJSON(e)
		}
		return "one of " + strings.Join(words, ", ")
	}
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 {
		return "any value"
	}
	if slices.Contains(types, "array") && s.Items != nil {
		return "array of " + expectation(s.Items)
	}
	return strings.Join(types, " or ")
}

// refusesAll reports whether s is the schema that nothing fits, as inference
// writes it for structs.
func refusesAll(s *jsonschema.Schema) bool {
	if s == nil || s.Not == nil {
		return false
	}
	b, err := json.Marshal(s)
	return err == nil && (string(b) == "false" || string(b) == `{"not":{}}`)
}

// suggestion names the known field closest to an unknown one.
func suggestion(name string, s *jsonschema.Schema) string {
	for _, near := range text.Nearest(name, slices.Collect(maps.Keys(s.Properties)), 1) {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func fieldName(path string) string {
	if path == "" {
		return "the input"
	}
	return path
}

// shortJSON is the JSON of a value, cut to a length that fits a message.
func shortJSON(v any) string {
	const longest = 60
	b, err := json.Marshal(v)
	if err != nil {
		return jsonType(v)
	}
	return text.Shorten(strings.ToValidUTF8(string(b), "\uFFFD"), longest)
}
