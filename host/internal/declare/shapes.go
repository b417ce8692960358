package declare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// memberList returns the members of an object, nil of anything else.
func (n *node) memberList() []member {
	if n.is(objectNode) {
		return n.members
	}
	return nil
}

// object writes the members of an object.
func (d *document) object(s *node, a at) expr {
	properties, required := s.get("properties").memberList(), s.get("required").words()
	for _, name := range required {
		if s.get("properties").get(name) == nil {
			properties = append(slices.Clip(properties), member{name, &node{kind: boolNode, truth: true}})
		}
	}
	pad := strings.Repeat(" ", a.indent+2)
	var b strings.Builder
	b.WriteString("{\n")
	for i, p := range properties {
		if i == maxProperties || d.spent() {
			fmt.Fprintf(&b, "%s// and %d more\n%s[key: string]: unknown;\n", pad, len(properties)-i, pad)
			b.WriteString(pad[2:] + "}")
			return expr{text: b.String()}
		}
		b.WriteString(d.property(p, slices.Contains(required, p.key), a, pad))
	}
	b.WriteString(d.others(s, len(properties) > 0, a, pad))
	if b.Len() == len("{\n") {
		return d.word("{}")
	}
	b.WriteString(pad[2:] + "}")
	return expr{text: b.String()}
}

// property writes one member with what is to be said about it.
func (d *document) property(p member, required bool, a at, pad string) string {
	text := d.say(comment(about(p.value), pad)) + pad + d.word(Key(p.key)).text
	if !required {
		text += "?"
	}
	return text + ": " + d.typeOf(p.value, a.member()).text + ";\n"
}

// others writes what an object may have beside its properties. A type for keys
// that are not known would have to fit those that are, so it is unknown there.
func (d *document) others(s *node, known bool, a at, pad string) string {
	additional, patterns := s.get("additionalProperties"), s.get("patternProperties").memberList()
	index := func(of string) string { return pad + "[key: string]: " + of + ";\n" }
	switch {
	case known && (len(patterns) > 0 || additional.is(objectNode) || additional.is(boolNode) && additional.truth):
		return index(unknown)
	case known:
		return ""
	case len(patterns) > 0:
		return index(unknown)
	case additional.is(boolNode) && !additional.truth:
		return index("never")
	case additional != nil:
		return d.say(comment(about(additional), pad)) + index(d.typeOf(additional, a.member()).text)
	}
	return index(unknown)
}

// array writes a list or a tuple.
func (d *document) array(s *node, a at) expr {
	first, rest := s.get("prefixItems").list(), s.get("items")
	if rest.is(arrayNode) { // as older drafts write tuples
		first, rest = rest.items, s.get("additionalItems")
	}
	if len(first) == 0 {
		if rest == nil {
			return d.word("unknown[]")
		}
		return expr{text: d.typeOf(rest, a.item(rest)).within(0) + "[]"}
	}
	least := s.get("minItems").count()
	var parts []string
	for i, item := range first {
		if i == maxUnion || d.spent() {
			rest = nil
			break
		}
		text := d.typeOf(item, a.item(item)).within(0)
		if i >= least {
			text += "?"
		}
		parts = append(parts, text)
	}
	if !rest.is(boolNode) || rest.truth {
		of := unknown
		if rest != nil {
			of = d.typeOf(rest, a.item(rest)).within(0)
		}
		parts = append(parts, "..."+of+"[]")
	}
	return expr{text: "[" + strings.Join(parts, ", ") + "]"}
}

// enum writes a list of values. What is beyond the bound is written by its type.
func (d *document) enum(values []*node) expr {
	if len(values) == 0 {
		return d.word("never")
	}
	var parts []expr
	for i, v := range values {
		if i >= maxUnion || d.spent() {
			parts = append(parts, d.word(kindName(v)))
			continue
		}
		parts = append(parts, d.literal(v, 0))
	}
	e := joined(parts, '|')
	if slices.ContainsFunc(parts, func(p expr) bool { return p.text == unknown }) {
		return expr{text: unknown}
	}
	return e
}

func kindName(v *node) string {
	switch v.kind {
	case stringNode:
		return "string"
	case numberNode:
		return "number"
	case boolNode:
		return "boolean"
	case nullNode:
		return "null"
	}
	return unknown
}

// exact matches numbers that a double holds as they are written.
var exact = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,6})?$`)

// literal writes the type of one value.
func (d *document) literal(v *node, depth int) expr {
	const maxLiteral, maxParts, deepest = 1000, 50, 4
	if depth > deepest || len(v.items)+len(v.members) > maxParts {
		return d.word(unknown)
	}
	switch v.kind {
	case stringNode:
		if len(v.text) > maxLiteral {
			return d.word("string")
		}
		return d.word(quote(v.text))
	case numberNode:
		if !exact.MatchString(v.text) {
			return d.word("number")
		}
		return d.word(v.text)
	case boolNode:
		return d.word(fmt.Sprint(v.truth))
	case nullNode:
		return d.word("null")
	case arrayNode:
		parts := make([]string, len(v.items))
		for i, item := range v.items {
			parts[i] = d.literal(item, depth+1).text
		}
		return expr{text: "[" + strings.Join(parts, ", ") + "]"}
	}
	parts := make([]string, len(v.members))
	for i, m := range v.members {
		parts[i] = d.word(Key(m.key)).text + ": " + d.literal(m.value, depth+1).text
	}
	return expr{text: "{ " + strings.Join(parts, "; ") + " }"}
}
