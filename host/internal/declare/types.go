package declare

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// Bounds of what is written of the schemas of one file.
const (
	maxSchemas    = 2_000 // schemas looked at
	maxText       = 64 << 10
	maxDepth      = 16 // types within types
	maxUnion      = 100
	maxProperties = 400
	maxWidth      = 1_024 // alternatives that an intersection multiplies to
)

const unknown = "unknown"

// Types writes the schemas of one file as type expressions. What they refer to
// becomes named types, which Declarations returns. It is not safe for concurrent
// use.
type Types struct {
	prefix   string
	taken    map[string]bool
	schemas  int // left to look at
	text     int // bytes left to write
	declared strings.Builder
}

// NewTypes starts a file. The names of its named types start with prefix, which is
// an identifier, and "_".
func NewTypes(prefix string) *Types {
	return &Types{prefix: prefix, taken: map[string]bool{}, schemas: maxSchemas, text: maxText}
}

// Declarations returns the named types that the expressions so far need, each a
// statement at the top of the file.
func (t *Types) Declarations() string { return t.declared.String() }

// Expression returns the type of values that fit a schema, written for a line that is
// indented by so many spaces. Name is what the whole is called where the schema
// refers to itself, such as Input. The type is unknown if the schema is absent or
// cannot be read.
func (t *Types) Expression(schema json.RawMessage, name string, indent int) string {
	return t.open(readSource(schema), name).whole(indent)
}

// whole writes the type of the schema; without one it is unknown.
func (d *document) whole(indent int) string {
	if d == nil {
		return unknown
	}
	return d.part(d.doc.Root(), indent)
}

// source is a schema that has been read.
type source struct {
	doc  *jsonschema.Document
	self bool // something in it refers to all of it
}

// readSource reads a schema. It returns nil if that is not possible.
func readSource(schema json.RawMessage) *source {
	doc := jsonschema.Parse(schema)
	if doc == nil {
		return nil
	}
	return &source{doc, (&document{doc: doc}).refersToRoot(doc.Root())}
}

// open prepares to write a schema. It returns nil without one. Name is as for Expression.
func (t *Types) open(s *source, name string) *document {
	if s == nil {
		return nil
	}
	d := &document{Types: t, doc: s.doc, name: name, names: map[*jsonschema.Node]string{}}
	if s.self {
		d.nameOf(s.doc.Root(), name)
	}
	return d
}

// part writes the type of a part of the schema, or of all, as Expression does.
func (d *document) part(n *jsonschema.Node, indent int) string {
	return d.expression(n, indent).text
}

// expression is part for a place where something else joins the type.
func (d *document) expression(n *jsonschema.Node, indent int) expr {
	e := expr{text: d.reference(n)}
	if e.text == "" {
		e = d.typeOf(n, at{indent: indent})
	}
	d.declare()
	return e
}

// document is one schema on its way.
type document struct {
	*Types
	doc     *jsonschema.Document
	name    string
	names   map[*jsonschema.Node]string // of definitions that have one
	pending []*jsonschema.Node          // named and not yet declared
	walked  int                         // steps along references
}

// at is a place in the output.
type at struct {
	indent int
	depth  int
	// alias is the definition with the type that is being written, as long as nothing is
	// around the place that puts its resolution off, as an object does, and an array does
	// with nothing but names, objects, arrays and unions in it.
	alias   *jsonschema.Node
	crossed bool // a tuple or an intersection is around the place
}

// member is the place of a part of an object.
func (a at) member() at { return at{indent: a.indent + 2, depth: a.depth + 1} }

// item is the place of a part of an array.
func (a at) item(items *jsonschema.Node) at {
	if !a.crossed && flat(items, 0) {
		a.alias = nil
	}
	a.depth++
	return a
}

// deeper is the place of an alternative.
func (a at) deeper() at {
	a.depth++
	return a
}

// expr is a type expression.
type expr struct {
	text string
	join byte // what joins its parts at the top: 0, '&' or '|'
}

// within returns the text for a place where only joins as tight as this may stand.
func (e expr) within(join byte) string {
	if e.join == 0 || e.join == join {
		return e.text
	}
	return "(" + e.text + ")"
}

// word makes an expression of one word and takes its length from what is left.
func (t *Types) word(text string) expr {
	t.text -= len(text)
	return expr{text: text}
}

// say takes the length of a comment from what is left; without enough it says
// nothing.
func (t *Types) say(comment string) string {
	if t.spent() {
		return ""
	}
	t.text -= len(comment)
	return comment
}

// spent reports whether no more may be written.
func (t *Types) spent() bool { return t.text <= 0 || t.schemas <= 0 }

// declare writes the named types, those too that they need in turn.
func (d *document) declare() {
	for len(d.pending) > 0 {
		n := d.pending[0]
		d.pending = d.pending[1:]
		said := d.say(comment(about(n), ""))
		d.declared.WriteString("\n" + said + "type " + d.names[n] + " = " + d.typeOf(n, at{alias: n}).text + ";\n")
	}
}

// nameOf gives a definition a name.
func (d *document) nameOf(n *jsonschema.Node, wish string) string {
	name, ok := d.names[n]
	if !ok {
		name = d.typeName(wish)
		d.names[n] = name
		d.pending = append(d.pending, n)
	}
	return name
}

// reference returns the name of a definition that has one.
func (d *document) reference(n *jsonschema.Node) string { return d.names[n] }

// typeOf writes the type of one schema: everything it says holds together.
func (d *document) typeOf(s *jsonschema.Node, a at) expr {
	d.schemas--
	switch {
	case s.IsFalse():
		return d.word("never")
	case !s.Is(jsonschema.Object) || a.depth > maxDepth || d.spent():
		return d.word(unknown)
	}
	a.crossed = a.crossed || crosses(s)
	var parts []expr
	wide := 1
	add := func(width int, part func() expr) {
		if len(parts) > 0 && wide*width > maxWidth {
			return
		}
		if e := part(); e.text != unknown {
			wide *= width
			parts = append(parts, e)
		}
	}
	if ref := s.Get("$ref"); ref.Is(jsonschema.String) {
		target := d.doc.Target(ref.Text)
		add(d.width(target, 0), func() expr { return d.refer(target, ref.Text, a) })
	}
	for _, union := range [][]*jsonschema.Node{s.Get("anyOf").List(), s.Get("oneOf").List()} {
		if len(union) > 0 {
			add(d.widthOf(union, 0), func() expr { return d.union(union, a) })
		}
	}
	for _, part := range s.Get("allOf").List() {
		add(d.width(part, 0), func() expr { return d.typeOf(part, a.deeper()) })
	}
	if own, bare := d.own(s, a, len(parts) > 0); !bare || len(parts) == 0 {
		add(1, func() expr { return own })
	}
	e := joined(parts, '&')
	if n := s.Get("nullable"); n.IsTrue() && e.text != unknown {
		e = joined([]expr{e, {text: "null"}}, '|')
	}
	return e
}

// crosses reports whether the type of a schema may be a tuple or an intersection.
func crosses(s *jsonschema.Node) bool {
	if s.Get("prefixItems").Is(jsonschema.Array) || s.Get("items").Is(jsonschema.Array) {
		return true
	}
	parts := len(s.Get("allOf").List())
	for _, keyword := range []string{"$ref", "anyOf", "oneOf"} {
		if s.Get(keyword) != nil {
			parts++
		}
	}
	if parts > 1 {
		return true
	}
	return parts == 1 && (s.Get("type") != nil || s.Get("const") != nil || s.Get("enum") != nil || len(implied(s)) > 0)
}

// flat reports whether the type of a schema has neither tuples nor intersections in it. It
// looks no further than the first objects and names.
func flat(s *jsonschema.Node, depth int) bool {
	if depth > maxDepth || crosses(s) {
		return false
	}
	ragged := func(n *jsonschema.Node) bool { return !flat(n, depth+1) }
	return !slices.ContainsFunc(s.Get("anyOf").List(), ragged) && !slices.ContainsFunc(s.Get("oneOf").List(), ragged) &&
		!slices.ContainsFunc(s.Get("allOf").List(), ragged) && (s.Get("items") == nil || flat(s.Get("items"), depth+1))
}

// joined joins parts, equal ones once. No parts say nothing.
func joined(parts []expr, join byte) expr {
	seen := map[string]bool{}
	var kept []expr
	for _, p := range parts {
		if !seen[p.text] {
			seen[p.text] = true
			kept = append(kept, p)
		}
	}
	switch len(kept) {
	case 0:
		return expr{text: unknown}
	case 1:
		return kept[0]
	}
	texts := make([]string, len(kept))
	for i, p := range kept {
		texts[i] = p.within(join)
	}
	return expr{text: strings.Join(texts, " "+string(join)+" "), join: join}
}

// union writes alternatives.
func (d *document) union(branches []*jsonschema.Node, a at) expr {
	var parts []expr
	for i, b := range branches {
		if i == maxUnion || d.spent() {
			return d.word(unknown)
		}
		e := d.typeOf(b, a.deeper())
		if e.text == unknown {
			return e
		}
		parts = append(parts, e)
	}
	return joined(parts, '|')
}

// own writes what a schema says by itself: its values, or its types. It is bare
// if that is no more than that values are objects; narrowed says that something
// else is known of them.
func (d *document) own(s *jsonschema.Node, a at, narrowed bool) (e expr, bare bool) {
	if c := s.Get("const"); c != nil {
		return d.literal(c, 0), false
	}
	if values := s.Get("enum"); values.Is(jsonschema.Array) {
		return d.enum(values.Items), false
	}
	types := s.Get("type").Words()
	if len(types) == 0 {
		types = implied(s)
	}
	var parts []expr
	for _, name := range types {
		switch name {
		case "string", "number", "boolean", "null":
			parts = append(parts, d.word(name))
		case "integer":
			parts = append(parts, d.word("number"))
		case "array":
			parts = append(parts, d.array(s, a))
		case "object":
			if narrowed && len(types) == 1 && !shaped(s) {
				return d.word(unknown), true
			}
			parts = append(parts, d.object(s, a))
		default:
			return d.word(unknown), false
		}
	}
	return joined(parts, '|'), false
}

// shaped reports whether a schema says what an object has.
func shaped(s *jsonschema.Node) bool {
	return len(s.Get("properties").Fields()) > 0 || len(s.Get("required").List()) > 0 || s.Get("additionalProperties") != nil
}

// implied returns the types that keywords speak of where no type is named.
func implied(s *jsonschema.Node) []string {
	switch {
	case shaped(s) || s.Get("patternProperties") != nil:
		return []string{"object"}
	case s.Get("items") != nil || s.Get("prefixItems") != nil:
		return []string{"array"}
	}
	return nil
}
