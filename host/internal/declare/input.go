package declare

import (
	"slices"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// maxRefs is how many references and combinations deep the properties of an input
// are looked for.
const maxRefs = 8

// propertyOf returns a schema that every value of a property of s fits, nil if s
// does not say.
func (d *document) propertyOf(s *jsonschema.Node, name string, depth int) *jsonschema.Node {
	if !s.Is(jsonschema.Object) || depth > maxRefs || d.tired() {
		return nil
	}
	var parts []*jsonschema.Node
	add := func(n *jsonschema.Node) {
		if n != nil {
			parts = append(parts, n)
		}
	}
	add(s.Get("properties").Get(name))
	if ref := s.Get("$ref"); ref.Is(jsonschema.String) {
		add(d.propertyOf(d.doc.Target(ref.Text), name, depth+1))
	}
	for _, part := range s.Get("allOf").List() {
		add(d.propertyOf(part, name, depth+1))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var branches []*jsonschema.Node
		for _, b := range s.Get(keyword).List() {
			p := d.propertyOf(b, name, depth+1)
			if p == nil {
				branches = nil
				break
			}
			branches = append(branches, p)
		}
		add(combined("anyOf", branches))
	}
	return combined("allOf", parts)
}

// combined returns the combination of schemas, nil without schemas.
func combined(keyword string, parts []*jsonschema.Node) *jsonschema.Node {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return &jsonschema.Node{Kind: jsonschema.Object, Members: []jsonschema.Member{{Key: keyword, Value: &jsonschema.Node{Kind: jsonschema.Array, Items: parts}}}}
}

// requires reports whether s plainly says that an object without that property does not fit
// it.
func (d *document) requires(s *jsonschema.Node, name string, depth int) bool {
	if !s.Is(jsonschema.Object) || depth > maxRefs || d.tired() {
		return false
	}
	if slices.Contains(s.Get("required").Words(), name) {
		return true
	}
	if ref := s.Get("$ref"); ref.Is(jsonschema.String) && d.requires(d.doc.Target(ref.Text), name, depth+1) {
		return true
	}
	of := func(part *jsonschema.Node) bool { return d.requires(part, name, depth+1) }
	if slices.ContainsFunc(s.Get("allOf").List(), of) {
		return true
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := s.Get(keyword).List(); len(branches) > 0 && !slices.ContainsFunc(branches, func(b *jsonschema.Node) bool { return !of(b) }) {
			return true
		}
	}
	return false
}

// without returns s as it is for who cannot give some properties: they are neither
// listed nor required. What s refers to is written out; beyond the bounds it says
// nothing.
func (d *document) without(s *jsonschema.Node, names []string, depth int) *jsonschema.Node {
	if !s.Is(jsonschema.Object) || len(names) == 0 {
		return s
	}
	if depth > maxRefs || d.tired() {
		return &jsonschema.Node{Kind: jsonschema.Object}
	}
	out := &jsonschema.Node{Kind: jsonschema.Object}
	var target *jsonschema.Node
	for _, m := range s.Members {
		switch m.Key {
		case "properties":
			m.Value = filtered(m.Value, names)
		case "required":
			m.Value = filtered(m.Value, names)
		case "allOf", "anyOf", "oneOf":
			m.Value = d.eachWithout(m.Value, names, depth)
		case "$ref":
			if m.Value.Is(jsonschema.String) {
				target = d.without(d.doc.Target(m.Value.Text), names, depth+1)
				continue
			}
		case "const", "enum": // of whole inputs, with what is not to be given
			continue
		}
		out.Members = append(out.Members, m)
	}
	if target == nil {
		return out
	}
	return combined("allOf", []*jsonschema.Node{target, out})
}

func (d *document) eachWithout(list *jsonschema.Node, names []string, depth int) *jsonschema.Node {
	out := &jsonschema.Node{Kind: jsonschema.Array}
	for _, part := range list.List() {
		out.Items = append(out.Items, d.without(part, names, depth+1))
	}
	return out
}

// filtered returns an object without some members, or a list without some words.
func filtered(n *jsonschema.Node, names []string) *jsonschema.Node {
	if n == nil {
		return nil
	}
	out := *n
	out.Members = slices.DeleteFunc(slices.Clone(n.Members), func(m jsonschema.Member) bool { return slices.Contains(names, m.Key) })
	out.Items = slices.DeleteFunc(slices.Clone(n.Items), func(i *jsonschema.Node) bool { return i.Is(jsonschema.String) && slices.Contains(names, i.Text) })
	return &out
}

// itemOf returns the schema of the items of lists that fit s, nil if s does not
// say.
func (d *document) itemOf(s *jsonschema.Node, depth int) *jsonschema.Node {
	switch {
	case !s.Is(jsonschema.Object) || depth > maxRefs:
		return nil
	case s.Get("items") != nil && !s.Get("items").Is(jsonschema.Array) && s.Get("prefixItems") == nil:
		return s.Get("items")
	case s.Get("$ref").Is(jsonschema.String):
		return d.itemOf(d.doc.Target(s.Get("$ref").Text), depth+1)
	}
	return nil
}
