package schemalimit

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxSteps is how many schemas one value may be held against, subschemas
	// included. A step takes some microseconds.
	maxSteps = 50_000
	// plainSchemas is how many subschemas, with references followed, a schema may
	// have for its steps not to be counted. The work is then in proportion to the
	// value.
	plainSchemas = 256
)

// ErrSteps is the error for a value that takes too many steps to check.
var ErrSteps = fmt.Errorf("checking the value takes more than %d steps; the schema has too many alternatives inside of each other", maxSteps)

// Schema is a compiled schema with bounded validation: alternatives inside of alternatives,
// such as a tree of two recursive forms, multiply with each level of the value. It is safe
// for concurrent use.
type Schema struct {
	schema *jsonschema.Schema
	mu     sync.Mutex // held while steps are counted
	steps  *int       // nil: they are not
}

// New bounds a compiled schema. Do not use the schema itself afterwards.
func New(s *jsonschema.Schema) *Schema {
	out := &Schema{schema: s}
	if left := plainSchemas; plain(s, &left) {
		return out
	}
	out.steps = new(int)
	out.count(s, make(map[*jsonschema.Schema]bool))
	return out
}

// Validate holds a value against the schema. The error is a
// *jsonschema.ValidationError, or matches ErrSteps. It panics where the library
// does.
func (s *Schema) Validate(v any) (err error) {
	if s.steps == nil {
		return s.schema.Validate(v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.steps = 0
	defer func() {
		p := recover()
		if e, ok := p.(error); ok && errors.Is(e, ErrSteps) {
			err = ErrSteps
		} else if p != nil {
			panic(p)
		}
	}()
	return s.schema.Validate(v)
}

// plain reports whether a schema has no more than left subschemas on all its ways.
func plain(s *jsonschema.Schema, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	for _, below := range children(s) {
		if !plain(below, left) {
			return false
		}
	}
	return true
}

// count makes every subschema count its steps. Formats are what the library checks
// first.
func (s *Schema) count(at *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if seen[at] {
		return
	}
	seen[at] = true
	counted := jsonschema.Format{Validate: func(any) error { return nil }}
	if at.Format != nil {
		counted = *at.Format
	}
	inner := counted.Validate
	counted.Validate = func(v any) error {
		if *s.steps++; *s.steps > maxSteps {
			panic(ErrSteps)
		}
		return inner(v)
	}
	at.Format = &counted
	for _, below := range children(at) {
		s.count(below, seen)
	}
}

// children returns the schemas that a schema refers to, in whatever field.
func children(s *jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			out = collect(out, v.Field(i))
		}
	}
	return out
}

// collect appends the schemas in a field of one.
func collect(out []*jsonschema.Schema, v reflect.Value) []*jsonschema.Schema {
	switch v.Kind() {
	case reflect.Interface:
		return collect(out, v.Elem())
	case reflect.Pointer:
		switch p := v.Interface().(type) {
		case *jsonschema.Schema:
			if p != nil {
				out = append(out, p)
			}
		case *jsonschema.DynamicRef:
			if p != nil && p.Ref != nil {
				out = append(out, p.Ref)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = collect(out, v.Index(i))
		}
	case reflect.Map:
		for m := v.MapRange(); m.Next(); {
			out = collect(out, m.Value())
		}
	}
	return out
}
