package typeschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Input returns the schema of a tool's input type, which must encode as a
// JSON object.
func Input(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := infer(t)
	if err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("%s does not encode as a JSON object; use a struct, struct{} for no input, or a map", t)
	}
	if s.Properties == nil && s.AdditionalProperties == nil {
		s.AdditionalProperties = &jsonschema.Schema{}
	}
	return s, nil
}

// Output returns the schema of a tool's result type. It is nil if the type says nothing.
func Output(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]() {
		return nil, nil
	}
	return infer(t)
}

// infer is the schema of t as encoding/json writes it, refined by field tags.
// Slices are arrays and never null: results are encoded that way, and a caller
// has no use for the difference.
func infer(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}})
	if err != nil {
		return nil, err
	}
	dropNullArrays(s)
	if err := refine(s, t, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// dropNullArrays turns type ["null","array"] into "array" throughout s.
func dropNullArrays(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Types, s.Type = nil, "array"
	}
	for _, p := range s.Properties {
		dropNullArrays(p)
	}
	dropNullArrays(s.Items)
	dropNullArrays(s.AdditionalProperties)
}

// Encode writes a value as JSON. A nil slice or map is [] or {} where the schema of its
// type wants an array or an object. A nil schema says nothing.
func Encode(v any, schema *jsonschema.Schema) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil || schema == nil || !bytes.Contains(b, []byte("null")) {
		return b, err
	}
	return fillNulls(b, schema)
}

// fillNulls rewrites b with the nulls replaced that schema does not allow.
func fillNulls(b json.RawMessage, schema *jsonschema.Schema) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	filled, changed := fillNull(tree, schema)
	if !changed {
		return b, nil
	}
	return json.Marshal(filled)
}

// fillNull returns v without the nulls that schema does not allow, and whether
// anything changed. Maps and slices are changed in place.
func fillNull(v any, schema *jsonschema.Schema) (any, bool) {
	if schema == nil {
		return v, false
	}
	switch v := v.(type) {
	case nil:
		switch schema.Type {
		case "array":
			return []any{}, true
		case "object":
			return map[string]any{}, true
		}
	case []any:
		changed := false
		for i := range v {
			item, c := fillNull(v[i], schema.Items)
			v[i], changed = item, changed || c
		}
		return v, changed
	case map[string]any:
		changed := false
		for k := range v {
			s := schema.AdditionalProperties
			if p, ok := schema.Properties[k]; ok {
				s = p
			}
			item, c := fillNull(v[k], s)
			v[k], changed = item, changed || c
		}
		return v, changed
	}
	return v, false
}

// errTag prefixes mistakes in field tags.
var errTag = errors.New("field tag")

// Defaults fills in the defaults of a schema. The zero value fills in nothing.
type Defaults struct{ resolved *jsonschema.Resolved }

// DefaultsOf returns what fills in the defaults of a schema, and of resolved, which is
// the same schema.
func DefaultsOf(s *jsonschema.Schema, resolved *jsonschema.Resolved) Defaults {
	if !hasDefaults(s) {
		return Defaults{}
	}
	return Defaults{resolved}
}

// hasDefaults reports whether any property of s has a default.
func hasDefaults(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	for _, p := range s.Properties {
		if p.Default != nil || hasDefaults(p) {
			return true
		}
	}
	return hasDefaults(s.Items) || hasDefaults(s.AdditionalProperties)
}

// Fill returns an input with its defaults. Anything but an object is returned as it is;
// numbers keep their digits.
func (d Defaults) Fill(input json.RawMessage) (json.RawMessage, error) {
	if d.resolved == nil {
		return input, nil
	}
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil || dec.More() {
		return input, nil // a check of the input says what is wrong
	}
	if err := d.resolved.ApplyDefaults(&object); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}
