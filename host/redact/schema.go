package redact

import (
	"encoding/json"
	"regexp"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// maxSchemas bounds the schemas that apply to one value, and the steps taken to
// find them. Beyond it the value is taken for a secret.
const maxSchemas = 64

// schemas are those that apply to one value: its own, and what that refers to or
// combines.
type schemas struct {
	doc     *jsonschema.Document
	list    []*jsonschema.Node
	tangled bool // too many to follow
}

// rootOf reads a schema. One that is too large to read hides everything.
func rootOf(schema json.RawMessage) schemas {
	doc := jsonschema.Parse(schema)
	if doc == nil {
		return schemas{tangled: json.Valid(schema)}
	}
	return schemas{doc: doc}.of(doc.Root())
}

// of returns the schemas that apply to a value with the given ones.
//
// Every branch of a combination counts, also of anyOf and if: which one holds for
// the value is not worked out, and hiding too much is the safe side.
func (s schemas) of(first ...*jsonschema.Node) schemas {
	out := schemas{doc: s.doc}
	steps := 0
	for len(first) > 0 {
		next := first[0]
		first = first[1:]
		if !next.Is(jsonschema.Object) {
			continue // true, false, or no schema
		}
		if steps++; steps > maxSchemas {
			out.tangled = true
			return out
		}
		out.list = append(out.list, next)
		first = append(first, s.doc.Ref(next))
		for _, k := range []string{"allOf", "anyOf", "oneOf"} {
			first = append(first, next.Get(k).List()...)
		}
		first = append(first, next.Get("if"), next.Get("then"), next.Get("else"))
	}
	return out
}

// secret reports whether any of the schemas says so.
func (s schemas) secret() bool {
	for _, m := range s.list {
		if m.Get("format").Str() == "password" || m.Get("writeOnly").IsTrue() {
			return true
		}
	}
	return s.tangled
}

// property returns the schemas of a property.
//
// A property without a schema of its own takes those for additional properties.
func (s schemas) property(name string) schemas {
	var found []*jsonschema.Node
	for _, m := range s.list {
		known := false
		if p := m.Get("properties").Get(name); p != nil {
			found, known = append(found, p), true
		}
		for _, p := range m.Get("patternProperties").Fields() {
			// A pattern that Go cannot read may be meant for this name.
			if re, err := regexp.Compile(p.Key); err != nil || re.MatchString(name) {
				found, known = append(found, p.Value), true
			}
		}
		if !known {
			found = append(found, m.Get("additionalProperties"), m.Get("unevaluatedProperties"))
		}
	}
	return s.of(found...)
}

// item returns the schemas of an element of an array.
func (s schemas) item(i int) schemas {
	var found []*jsonschema.Node
	for _, m := range s.list {
		prefix := m.Get("prefixItems")
		if !prefix.Is(jsonschema.Array) {
			prefix = m.Get("items") // as it was before 2020-12
		}
		if list := prefix.List(); i < len(list) {
			found = append(found, list[i])
			continue
		}
		found = append(found, m.Get("items"), m.Get("additionalItems"), m.Get("unevaluatedItems"), m.Get("contains"))
	}
	return s.of(found...)
}
