package declare

import "slices"

// maxRefs is how many references and combinations deep the properties of an input
// are looked for.
const maxRefs = 8

// propertyOf returns a schema that every value of a property of s fits, nil if s
// does not say.
func (d *document) propertyOf(s *node, name string, depth int) *node {
	if !s.is(objectNode) || depth > maxRefs || d.tired() {
		return nil
	}
	var parts []*node
	add := func(n *node) {
		if n != nil {
			parts = append(parts, n)
		}
	}
	add(s.get("properties").get(name))
	if ref := s.get("$ref"); ref.is(stringNode) {
		add(d.propertyOf(d.target(ref.text), name, depth+1))
	}
	for _, part := range s.get("allOf").list() {
		add(d.propertyOf(part, name, depth+1))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var branches []*node
		for _, b := range s.get(keyword).list() {
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

// combined returns the combination of schemas, nil of none.
func combined(keyword string, parts []*node) *node {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return &node{kind: objectNode, members: []member{{keyword, &node{kind: arrayNode, items: parts}}}}
}

// requires reports whether an object without that property does not fit s, as far
// as s says so plainly.
func (d *document) requires(s *node, name string, depth int) bool {
	if !s.is(objectNode) || depth > maxRefs || d.tired() {
		return false
	}
	if slices.Contains(s.get("required").words(), name) {
		return true
	}
	if ref := s.get("$ref"); ref.is(stringNode) && d.requires(d.target(ref.text), name, depth+1) {
		return true
	}
	of := func(part *node) bool { return d.requires(part, name, depth+1) }
	if slices.ContainsFunc(s.get("allOf").list(), of) {
		return true
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := s.get(keyword).list(); len(branches) > 0 && !slices.ContainsFunc(branches, func(b *node) bool { return !of(b) }) {
			return true
		}
	}
	return false
}

// without returns s as it is for who cannot give some properties: they are neither
// listed nor required. What s refers to is written out; beyond the bounds it says
// nothing.
func (d *document) without(s *node, names []string, depth int) *node {
	if !s.is(objectNode) || len(names) == 0 {
		return s
	}
	if depth > maxRefs || d.tired() {
		return &node{kind: objectNode}
	}
	out := &node{kind: objectNode}
	var target *node
	for _, m := range s.members {
		switch m.key {
		case "properties":
			m.value = filtered(m.value, names)
		case "required":
			m.value = filtered(m.value, names)
		case "allOf", "anyOf", "oneOf":
			m.value = d.eachWithout(m.value, names, depth)
		case "$ref":
			if m.value.is(stringNode) {
				target = d.without(d.target(m.value.text), names, depth+1)
				continue
			}
		case "const", "enum": // of whole inputs, with what is not to be given
			continue
		}
		out.members = append(out.members, m)
	}
	if target == nil {
		return out
	}
	return combined("allOf", []*node{target, out})
}

func (d *document) eachWithout(list *node, names []string, depth int) *node {
	out := &node{kind: arrayNode}
	for _, part := range list.list() {
		out.items = append(out.items, d.without(part, names, depth+1))
	}
	return out
}

// filtered returns an object without some members, or a list without some words.
func filtered(n *node, names []string) *node {
	if n == nil {
		return nil
	}
	out := *n
	out.members = slices.DeleteFunc(slices.Clone(n.members), func(m member) bool { return slices.Contains(names, m.key) })
	out.items = slices.DeleteFunc(slices.Clone(n.items), func(i *node) bool { return i.is(stringNode) && slices.Contains(names, i.text) })
	return &out
}

// itemOf returns the schema of the items of lists that fit s, nil if s does not
// say.
func (d *document) itemOf(s *node, depth int) *node {
	switch {
	case !s.is(objectNode) || depth > maxRefs:
		return nil
	case s.get("items") != nil && !s.get("items").is(arrayNode) && s.get("prefixItems") == nil:
		return s.get("items")
	case s.get("$ref").is(stringNode):
		return d.itemOf(d.target(s.get("$ref").text), depth+1)
	}
	return nil
}
