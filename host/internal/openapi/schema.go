package openapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// The bounds of one schema, with all definitions that it needs. A definition for which
// there is no room accepts everything.
const (
	maxInputSchema  = 64 << 10
	maxOutputSchema = 12 << 10
	maxFragment     = 128 << 10 // of one definition, before it is looked at whether it fits
	maxAbout        = 400       // bytes of a description inside a schema
)

// use says for which direction a schema is written: members that only the server may set
// are not part of an input, and those that only the client may set of no output. An upload
// is an input that may have files in it.
type use int

const (
	input use = iota
	upload
	output
)

// schemas writes the schemas of a document as JSON Schema 2020-12. A definition is written
// once for each use.
type schemas struct {
	doc    *references
	legacy bool // 3.0, with schemas that differ from JSON Schema
	names  map[string]string
	taken  map[string]bool
	parts  map[part]*fragment
}

// part is a definition for one use.
type part struct {
	ref string
	use use
}

// fragment is one schema as JSON, and the definitions that it names, in order.
type fragment struct {
	text []byte
	refs []string
}

// newSchemas returns the schemas of a document.
func newSchemas(doc *references, legacy bool) *schemas {
	return &schemas{doc: doc, legacy: legacy, names: map[string]string{}, taken: map[string]bool{}, parts: map[part]*fragment{}}
}

// fragment writes a schema that is no definition of its own.
func (s *schemas) fragment(n *jsonschema.Node, u use) *fragment {
	w := &schemaWriter{schemas: s, use: u}
	w.schema(n, 0)
	if w.full {
		return &fragment{text: []byte("{}")}
	}
	return &fragment{text: w.out.Bytes(), refs: w.refs}
}

// whole adds to a schema the definitions that it needs, those that are named first first,
// until the room is used up.
func (s *schemas) whole(f *fragment, u use, room int) json.RawMessage {
	if len(f.refs) == 0 {
		return f.text
	}
	var b bytes.Buffer
	b.Write(f.text[:len(f.text)-1])
	if len(f.text) > len("{}") {
		b.WriteByte(',')
	}
	b.WriteString(`"$defs":{`)
	seen := map[string]bool{}
	queue := slices.Clone(f.refs)
	for len(queue) > 0 {
		ref := queue[0]
		queue = queue[1:]
		if seen[ref] {
			continue
		}
		if len(seen) > 0 {
			b.WriteByte(',')
		}
		seen[ref] = true
		b.Write(quote(s.name(ref)))
		b.WriteByte(':')
		def := s.definition(ref, u)
		if b.Len()+len(def.text) > room {
			b.WriteString("{}")
			continue
		}
		b.Write(def.text)
		queue = append(queue, def.refs...)
	}
	b.WriteString("}}")
	return b.Bytes()
}

// definition writes what a reference leads to.
func (s *schemas) definition(ref string, u use) *fragment {
	key := part{ref, u}
	if f := s.parts[key]; f != nil {
		return f
	}
	target, _ := s.doc.target(ref)
	f := s.fragment(target, u)
	s.parts[key] = f
	return f
}

// leads reports whether a reference leads to a definition.
func (s *schemas) leads(ref string) bool {
	if strings.HasPrefix(ref, "#/") {
		return true
	}
	if ref == "" || ref[0] == '#' {
		return false
	}
	target, _ := s.doc.target(ref)
	return target != nil
}

// name is what the definition of a reference is called.
func (s *schemas) name(ref string) string {
	if name, ok := s.names[ref]; ok {
		return name
	}
	base := strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, text.Shorten(ref[strings.LastIndexByte(ref, '/')+1:], 100))
	name := base
	for n := 2; s.taken[name]; n++ {
		name = base + strconv.Itoa(n)
	}
	s.taken[name], s.names[ref] = true, name
	return name
}
