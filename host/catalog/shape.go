package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

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
	if len(schema) > maxShapeSchema || !json.Valid(schema) {
		return "unknown"
	}
	s := shaper{root: schema, steps: new(int)}
	s.schema(schema, 0, 0)
	return s.String()
}

// shaper writes one shape.
type shaper struct {
	strings.Builder
	root  json.RawMessage
	steps *int // shared by all shapers of one shape
}

// inner returns a shaper for a part that is written apart first.
func (s *shaper) inner() *shaper { return &shaper{root: s.root, steps: s.steps} }

// schemaWords are the keywords a shape shows. All are raw, because a schema of
// somebody else's may have anything in them.
type schemaWords map[string]json.RawMessage

func wordsOf(schema json.RawMessage) (schemaWords, bool) {
	var words schemaWords
	return words, json.Unmarshal(schema, &words) == nil && words != nil
}

// full reports whether there is no room for more.
func (s *shaper) full() bool { return s.Len() > maxShapeBytes }

// schema writes the type of one schema.
func (s *shaper) schema(schema json.RawMessage, depth, refs int) {
	if *s.steps++; *s.steps > maxShapeSteps {
		s.WriteString("…")
		return
	}
	words, ok := wordsOf(schema)
	if s.full() || !ok {
		if string(bytes.TrimSpace(schema)) == "false" {
			s.WriteString("never")
		} else {
			s.WriteString("unknown")
		}
		return
	}
	switch {
	case words["$ref"] != nil:
		if target := s.target(words["$ref"]); target != nil && refs < maxShapeRefs && depth < maxShapeDepth {
			s.schema(target, depth, refs+1)
			return
		}
		s.WriteString("object")
	case words["const"] != nil:
		s.WriteString(text.Shorten(compacted(words["const"]), 40))
	case words["enum"] != nil:
		s.enum(words["enum"])
	case words.branches("anyOf") != nil:
		s.union(words.branches("anyOf"), "|", depth, refs)
	case words.branches("oneOf") != nil:
		s.union(words.branches("oneOf"), "|", depth, refs)
	case words.branches("allOf") != nil && words["properties"] == nil:
		s.union(words.branches("allOf"), " & ", depth, refs)
	default:
		s.types(words, depth, refs)
	}
}

// types writes a schema by its type keyword, or by what its other keywords imply.
func (s *shaper) types(words schemaWords, depth, refs int) {
	types := stringsOf(words["type"])
	if len(types) == 0 {
		switch {
		case words["properties"] != nil:
			types = []string{"object"}
		case words["items"] != nil:
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
			s.object(words, depth, refs)
		case "array":
			s.array(words["items"], depth, refs)
		case "":
			s.WriteString("unknown")
		default:
			s.WriteString(text.Shorten(t, 20))
		}
	}
}

func (s *shaper) object(words schemaWords, depth, refs int) {
	properties := members(words["properties"])
	if depth >= maxShapeDepth && len(properties) > 0 {
		s.WriteString("{ … }")
		return
	}
	if len(properties) == 0 {
		if _, typed := wordsOf(words["additionalProperties"]); typed && depth < maxShapeDepth {
			s.WriteString("{ [key]: ")
			s.schema(words["additionalProperties"], depth+1, refs)
			s.WriteString(" }")
			return
		}
		if string(words["additionalProperties"]) == "false" {
			s.WriteString("{}")
			return
		}
		s.WriteString("object")
		return
	}
	required := stringsOf(words["required"])
	s.WriteString("{ ")
	for i, p := range properties {
		if i > 0 {
			s.WriteString(", ")
		}
		if s.full() {
			s.WriteString("…")
			break
		}
		if isSafe(p.name) {
			s.WriteString(text.Shorten(p.name, text.MaxCompared))
		} else {
			s.WriteString(quoted(p.name))
		}
		if !slices.Contains(required, p.name) {
			s.WriteByte('?')
		}
		s.WriteString(": ")
		s.schema(p.value, depth+1, refs)
	}
	s.WriteString(" }")
}

func (s *shaper) array(items json.RawMessage, depth, refs int) {
	if _, ok := wordsOf(items); !ok || depth >= maxShapeDepth {
		s.WriteString("array")
		return
	}
	inner := s.inner()
	inner.schema(items, depth+1, refs)
	text := inner.String()
	if strings.ContainsAny(text, "|&") && !strings.HasPrefix(text, "{") {
		text = "(" + text + ")"
	}
	s.WriteString(text + "[]")
}

// enum writes the values of an enumeration.
func (s *shaper) enum(values json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(values, &list) != nil || len(list) == 0 {
		s.WriteString("unknown")
		return
	}
	for i, v := range list[:min(len(list), maxShapeUnion)] {
		if i > 0 {
			s.WriteByte('|')
		}
		s.WriteString(text.Shorten(compacted(v), 40))
	}
	if len(list) > maxShapeUnion {
		s.WriteString("|…")
	}
}

// union writes alternatives, equal ones once.
func (s *shaper) union(branches []json.RawMessage, between string, depth, refs int) {
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

// branches returns the schemas of a combining keyword, nil if there are none.
func (w schemaWords) branches(keyword string) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(w[keyword], &list) != nil || len(list) == 0 {
		return nil
	}
	return list
}

// target follows a reference within the schema.
func (s *shaper) target(ref json.RawMessage) json.RawMessage {
	var pointer string
	if json.Unmarshal(ref, &pointer) != nil || !strings.HasPrefix(pointer, "#") {
		return nil
	}
	at := s.root
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "#"), "/")[1:] {
		words, ok := wordsOf(at)
		if !ok {
			return nil
		}
		at = words[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return at
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of a JSON object in order.
func members(object json.RawMessage) []member {
	if words, ok := wordsOf(object); !ok || len(words) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil { // the opening brace
		return nil
	}
	var list []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return list
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return list
		}
		list = append(list, m)
	}
	return list
}

// stringsOf reads a string or a list of strings.
func stringsOf(value json.RawMessage) []string {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}
	}
	var list []string
	if json.Unmarshal(value, &list) != nil {
		return nil
	}
	return list
}

func compacted(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return "?"
	}
	return b.String()
}
