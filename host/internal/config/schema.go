package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Schema returns a JSON Schema (draft 2020-12) of the files that the table reads,
// indented. A number outside its range does not conform, although Read clamps it.
func (t Table) Schema(title string) ([]byte, error) {
	s := objectSchema(t.Fields)
	s.Dialect, s.Title = "https://json-schema.org/draft/2020-12/schema", title
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(s)
	return b.Bytes(), err
}

// schema is the part of JSON Schema that tables need, in the order in which a
// person would write it.
type schema struct {
	Dialect     string     `json:"$schema,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Type        any        `json:"type,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Minimum     *int64     `json:"minimum,omitempty"`
	Maximum     *int64     `json:"maximum,omitempty"`
	MinItems    int        `json:"minItems,omitempty"`
	Unique      bool       `json:"uniqueItems,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	Properties  properties `json:"properties,omitempty"`
	Additional  any        `json:"additionalProperties,omitempty"`
	Default     any        `json:"default,omitempty"`
}

// properties are written in the order of the table.
type properties []property

type property struct {
	name   string
	schema *schema
}

func (ps properties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, p := range ps {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(p.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.schema)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

func objectSchema(fields []Field) *schema {
	s := &schema{Type: "object", Properties: properties{}, Additional: false}
	for i := range fields {
		s.Properties = append(s.Properties, property{fields[i].name, fields[i].schema()})
	}
	return s
}

func (f *Field) schema() *schema {
	s := &schema{}
	switch f.kind {
	case kindBool:
		s.Type = "boolean"
	case kindInt:
		s.Type, s.Minimum, s.Maximum = "integer", &f.min, &f.max
	case kindText:
		s.Type, s.Enum = "string", f.words()
	case kindTexts:
		s.Type, s.Items, s.Unique = "array", &schema{Type: "string", Enum: f.words()}, len(f.choices) > 0
		if f.nonEmpty {
			s.MinItems = 1
		}
	case kindObject:
		s = objectSchema(f.fields)
		if f.switchOf != "" {
			s.Type = []string{"boolean", "object"}
		}
	case kindMap:
		entry := f.entry("*")
		s.Type, s.Additional = "object", entry.schema()
	case kindList:
		item := f.item(0)
		s.Type, s.Items = "array", item.schema()
	}
	s.Description = f.doc
	if f.scalar() && !f.inherited && !f.absent() {
		s.Default = f.get()
	}
	return s
}

// words are the choices with their aliases.
func (f *Field) words() []string {
	words := append([]string(nil), f.choices...)
	return append(words, slices.Sorted(maps.Keys(f.aliases))...)
}

// absent reports whether the default is no value at all.
func (f *Field) absent() bool {
	switch v := f.get().(type) {
	case string:
		return v == ""
	case []string:
		return v == nil
	}
	return false
}
