package declare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// object writes the members of an object.
func (d *document) object(s *jsonschema.Node, a at) expr {
	properties, required := s.Get("properties").Fields(), s.Get("required").Words()
	for _, name := range required {
		if s.Get("properties").Get(name) == nil {
			properties = append(slices.Clip(properties), jsonschema.Member{Key: name, Value: &jsonschema.Node{Kind: jsonschema.Bool, Truth: true}})
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
		b.WriteString(d.property(p, slices.Contains(required, p.Key), a, pad))
	}
	b.WriteString(d.others(s, len(properties) > 0, a, pad))
	if b.Len() == len("{\n") {
		return d.word("{}")
	}
	b.WriteString(pad[2:] + "}")
	return expr{text: b.String()}
}

// property writes one member with what is to be said about it.
func (d *document) property(p jsonschema.Member, required bool, a at, pad string) string {
	text := d.say(comment(about(p.Value), pad)) + pad + d.word(Key(p.Key)).text
	if !required {
		text += "?"
	}
	return text + ": " + d.typeOf(p.Value, a.member()).text + ";\n"
}

// others writes what an object may have besides its properties. A type for unknown
// keys would have to fit the known ones too, so it is unknown there.
func (d *document) others(s *jsonschema.Node, known bool, a at, pad string) string {
	additional, patterns := s.Get("additionalProperties"), s.Get("patternProperties").Fields()
	index := func(of string) string { return pad + "[key: string]: " + of + ";\n" }
	switch {
	case known && (len(patterns) > 0 || additional.Is(jsonschema.Object) || additional.IsTrue()):
		return index(unknown)
	case known:
		return ""
	case len(patterns) > 0:
		return index(unknown)
	case additional.IsFalse():
		return index("never")
	case additional != nil:
		return d.say(comment(about(additional), pad)) + index(d.typeOf(additional, a.member()).text)
	}
	return index(unknown)
}

// array writes a list or a tuple.
func (d *document) array(s *jsonschema.Node, a at) expr {
	first, rest := s.Get("prefixItems").List(), s.Get("items")
	if rest.Is(jsonschema.Array) { // as older drafts write tuples
		first, rest = rest.Items, s.Get("additionalItems")
	}
	if len(first) == 0 {
		if rest == nil {
			return d.word("unknown[]")
		}
		return expr{text: d.typeOf(rest, a.item(rest)).within(0) + "[]"}
	}
	least := s.Get("minItems").Count()
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
	if !rest.Is(jsonschema.Bool) || rest.Truth {
		of := unknown
		if rest != nil {
			of = d.typeOf(rest, a.item(rest)).within(0)
		}
		parts = append(parts, "..."+of+"[]")
	}
	return expr{text: "[" + strings.Join(parts, ", ") + "]"}
}

// enum writes a list of values. What is beyond the bound is written by its type.
func (d *document) enum(values []*jsonschema.Node) expr {
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

func kindName(v *jsonschema.Node) string {
	switch v.Kind {
	case jsonschema.String:
		return "string"
	case jsonschema.Number:
		return "number"
	case jsonschema.Bool:
		return "boolean"
	case jsonschema.Null:
		return "null"
	}
	return unknown
}

// exact matches numbers that a double holds as they are written.
var exact = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,6})?$`)

// literal writes the type of one value.
func (d *document) literal(v *jsonschema.Node, depth int) expr {
	const maxLiteral, maxParts, deepest = 1000, 50, 4
	if depth > deepest || len(v.Items)+len(v.Members) > maxParts {
		return d.word(unknown)
	}
	switch v.Kind {
	case jsonschema.String:
		if len(v.Text) > maxLiteral {
			return d.word("string")
		}
		return d.word(quote(v.Text))
	case jsonschema.Number:
		if !exact.MatchString(v.Text) {
			return d.word("number")
		}
		return d.word(v.Text)
	case jsonschema.Bool:
		return d.word(fmt.Sprint(v.Truth))
	case jsonschema.Null:
		return d.word("null")
	case jsonschema.Array:
		parts := make([]string, len(v.Items))
		for i, item := range v.Items {
			parts[i] = d.literal(item, depth+1).text
		}
		return expr{text: "[" + strings.Join(parts, ", ") + "]"}
	}
	parts := make([]string, len(v.Members))
	for i, m := range v.Members {
		parts[i] = d.word(Key(m.Key)).text + ": " + d.literal(m.Value, depth+1).text
	}
	return expr{text: "{ " + strings.Join(parts, "; ") + " }"}
}
