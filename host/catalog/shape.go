package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// Bounds of a rendered shape, which stands in prompts and error messages.
const (
	maxShapeBytes  = 600
	maxShapeDepth  = 4
	maxShapeRefs   = 8
	maxShapeUnion  = 12
	maxShapeSchema = 64 << 10
	maxShapeSteps  = 200 // schemas looked at
)

// Shape renders a JSON Schema as a compact type in the manner of TypeScript,
// such as { state?: "open"|"closed", limit?: integer }, properties in the
// schema's order. It is for people and models: bounded to about 600 bytes and
// a few levels, with "…" for what is left out, and "unknown" for what it
// cannot read. An absent schema is "{}".
func Shape(schema json.RawMessage) string {
	if len(bytes.TrimSpace(schema)) == 0 {
		return "{}"
	}
	if len(schema) > maxShapeSchema {
		return "unknown"
	}
	s := shaper{doc: jsonschema.Parse(schema), steps: new(int)}
	s.schema(s.doc.Root(), 0, 0)
	return s.String()
}

// shaper writes one shape.
type shaper struct {
	strings.Builder
	doc   *jsonschema.Document
	steps *int // shared by all shapers of one shape
}

// inner returns a shaper for a part that is written apart first.
//
// It shares the count of steps, so that nested unions cannot multiply the work.
func (s *shaper) inner() *shaper { return &shaper{doc: s.doc, steps: s.steps} }

// full reports whether there is no room for more.
func (s *shaper) full() bool { return s.Len() > maxShapeBytes }

// schema writes the type of one schema.
func (s *shaper) schema(n *jsonschema.Node, depth, refs int) {
	if *s.steps++; *s.steps > maxShapeSteps {
		s.WriteString("…")
		return
	}
	if n.IsFalse() {
		s.WriteString("never")
		return
	}
	if s.full() || !n.Is(jsonschema.Object) {
		s.WriteString("unknown")
		return
	}
	switch {
	case n.Get("$ref") != nil:
		if target := s.doc.Ref(n); target != nil && refs < maxShapeRefs && depth < maxShapeDepth {
			s.schema(target, depth, refs+1)
			return
		}
		s.WriteString("object")
	case n.Get("const") != nil:
		s.WriteString(shortLiteral(n.Get("const")))
	case n.Get("enum") != nil:
		s.enum(n.Get("enum").List())
	case len(n.Get("anyOf").List()) > 0:
		s.union(n.Get("anyOf").List(), "|", depth, refs)
	case len(n.Get("oneOf").List()) > 0:
		s.union(n.Get("oneOf").List(), "|", depth, refs)
	case len(n.Get("allOf").List()) > 0 && n.Get("properties") == nil:
		s.union(n.Get("allOf").List(), " & ", depth, refs)
	default:
		s.types(n, depth, refs)
	}
}

// types writes a schema by its type keyword, or by what its other keywords imply.
func (s *shaper) types(n *jsonschema.Node, depth, refs int) {
	types := n.Get("type").Words()
	if len(types) == 0 {
		switch {
		case n.Get("properties") != nil:
			types = []string{"object"}
		case n.Get("items") != nil:
			types = []string{"array"}
		default:
			types = []string{"unknown"}
		}
	}
	for i, t := range types[:min(len(types), maxShapeUnion)] {
		if i > 0 {
			s.WriteByte('|')
		}
		switch t {
		case "object":
			s.object(n, depth, refs)
		case "array":
			s.array(n.Get("items"), depth, refs)
		case "":
			s.WriteString("unknown")
		default:
			s.WriteString(text.Shorten(t, 20))
		}
	}
}

// object writes an object type. Without known properties it says what additional
// ones may be.
func (s *shaper) object(n *jsonschema.Node, depth, refs int) {
	properties := n.Get("properties").Fields()
	if depth >= maxShapeDepth && len(properties) > 0 {
		s.WriteString("{ … }")
		return
	}
	if len(properties) == 0 {
		switch additional := n.Get("additionalProperties"); {
		case additional.Is(jsonschema.Object) && depth < maxShapeDepth:
			s.WriteString("{ [key]: ")
			s.schema(additional, depth+1, refs)
			s.WriteString(" }")
		case additional.IsFalse():
			s.WriteString("{}")
		default:
			s.WriteString("object")
		}
		return
	}
	required := n.Get("required").Words()
	s.WriteString("{ ")
	for i, p := range properties {
		if i > 0 {
			s.WriteString(", ")
		}
		if s.full() {
			s.WriteString("…")
			break
		}
		if isSafe(p.Key) {
			s.WriteString(text.Shorten(p.Key, text.MaxCompared))
		} else {
			s.WriteString(quoted(p.Key))
		}
		if !slices.Contains(required, p.Key) {
			s.WriteByte('?')
		}
		s.WriteString(": ")
		s.schema(p.Value, depth+1, refs)
	}
	s.WriteString(" }")
}

// array writes a list type. Unions get parentheses, as [] binds tighter.
func (s *shaper) array(items *jsonschema.Node, depth, refs int) {
	if !items.Is(jsonschema.Object) || depth >= maxShapeDepth {
		s.WriteString("array")
		return
	}
	inner := s.inner()
	inner.schema(items, depth+1, refs)
	item := inner.String()
	if strings.ContainsAny(item, "|&") && !strings.HasPrefix(item, "{") {
		item = "(" + item + ")"
	}
	s.WriteString(item + "[]")
}

// enum writes the values of an enumeration.
func (s *shaper) enum(list []*jsonschema.Node) {
	if len(list) == 0 {
		s.WriteString("unknown")
		return
	}
	for i, v := range list[:min(len(list), maxShapeUnion)] {
		if i > 0 {
			s.WriteByte('|')
		}
		s.WriteString(shortLiteral(v))
	}
	if len(list) > maxShapeUnion {
		s.WriteString("|…")
	}
}

// union writes alternatives, equal ones once.
func (s *shaper) union(branches []*jsonschema.Node, between string, depth, refs int) {
	var texts []string
	for _, branch := range branches[:min(len(branches), maxShapeUnion)] {
		inner := s.inner()
		if depth < maxShapeDepth {
			inner.schema(branch, depth+1, refs)
		} else {
			inner.WriteString("…")
		}
		if text := inner.String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if len(strings.Join(texts, between))+s.Len() > maxShapeBytes {
			texts = append(texts, "…")
			break
		}
	}
	s.WriteString(strings.Join(texts, between))
}

// shortLiteral writes a value as it stands in the schema, shortened.
func shortLiteral(n *jsonschema.Node) string {
	var b bytes.Buffer
	if json.Compact(&b, n.Raw) != nil {
		return "?"
	}
	return text.Shorten(b.String(), 40)
}
