package typeschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// refine applies the field tags enum, min, max and default of t, and of the
// types inside it, to the schema inferred for t. seen guards against types
// already on the way down.
func refine(s *jsonschema.Schema, t reflect.Type, seen []reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s == nil || slices.Contains(seen, t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return refine(s.Items, t.Elem(), seen)
	case reflect.Map:
		return refine(s.AdditionalProperties, t.Elem(), seen)
	case reflect.Struct:
		seen = append(seen, t)
		for _, f := range reflect.VisibleFields(t) {
			property := s.Properties[jsonName(f)]
			if property == nil || f.Anonymous {
				continue
			}
			if _, ok := f.Tag.Lookup("default"); ok && slices.Contains(s.Required, jsonName(f)) {
				return fmt.Errorf("%s.%s: %w: a default needs omitempty or omitzero", t, f.Name, errTag)
			}
			if err := refineField(property, f); err != nil {
				return fmt.Errorf("%s.%s: %w: %w", t, f.Name, errTag, err)
			}
			if err := refine(property, f.Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// jsonName is the name encoding/json gives a field, "" if it is left out.
func jsonName(f reflect.StructField) string {
	if !f.IsExported() {
		return ""
	}
	tag, ok := f.Tag.Lookup("json")
	name, _, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-":
		return ""
	case !ok || name == "":
		return f.Name
	}
	return name
}

// refineField applies the tags of one field.
func refineField(s *jsonschema.Schema, f reflect.StructField) error {
	target := s
	if s.Items != nil {
		target = s.Items // enum, min and max of a list speak of its items
	}
	if tag, ok := f.Tag.Lookup("enum"); ok {
		for word := range strings.SplitSeq(tag, ",") {
			v, err := tagValue(target, word)
			if err != nil {
				return fmt.Errorf("enum: %w", err)
			}
			target.Enum = append(target.Enum, v)
		}
	}
	if err := bound(f, "min", target, &target.Minimum, &target.MinLength); err != nil {
		return err
	}
	if err := bound(f, "max", target, &target.Maximum, &target.MaxLength); err != nil {
		return err
	}
	if tag, ok := f.Tag.Lookup("default"); ok {
		v, err := tagValue(s, tag)
		if err != nil {
			return fmt.Errorf("default: %w", err)
		}
		if s.Default, err = json.Marshal(v); err != nil {
			return err
		}
	}
	return nil
}

// bound applies a min or max tag: of the value for numbers, of the length for
// strings.
func bound(f reflect.StructField, key string, s *jsonschema.Schema, number **float64, length **int) error {
	tag, ok := f.Tag.Lookup(key)
	if !ok {
		return nil
	}
	switch schemaType(s) {
	case "integer", "number":
		v, err := strconv.ParseFloat(tag, 64)
		if err != nil {
			return fmt.Errorf("%s: %q is not a number", key, tag)
		}
		*number = &v
	case "string":
		v, err := strconv.Atoi(tag)
		if err != nil || v < 0 {
			return fmt.Errorf("%s: %q is not a length", key, tag)
		}
		*length = &v
	default:
		return fmt.Errorf("%s applies to numbers and strings only", key)
	}
	return nil
}

// schemaType is the one type of s besides null, or "".
func schemaType(s *jsonschema.Schema) string {
	if s.Type != "" {
		return s.Type
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		return s.Types[1]
	}
	return ""
}

// tagValue reads the text of a tag as a value of s's type.
func tagValue(s *jsonschema.Schema, text string) (any, error) {
	switch schemaType(s) {
	case "string":
		return text, nil
	case "integer":
		v, err := strconv.ParseInt(text, 10, 64)
		return float64(v), err
	case "number":
		return strconv.ParseFloat(text, 64)
	case "boolean":
		return strconv.ParseBool(text)
	}
	return nil, fmt.Errorf("%q: only strings, numbers and booleans can be written in a tag", text)
}
