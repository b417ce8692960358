package openapi

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// schemaWriter writes one schema.
type schemaWriter struct {
	schemas *schemas
	use     use
	out     bytes.Buffer
	refs    []string
	full    bool // more than maxFragment: the schema is given up
}

// What is kept of a schema, by the kind of its value. Everything else is left out:
// examples, discriminators, XML and extensions teach a program nothing, and identifiers
// and dynamic references would change where references lead.
var (
	subschemas    = words("items not contains propertyNames if then else additionalProperties unevaluatedItems unevaluatedProperties")
	schemaMaps    = words("properties patternProperties dependentSchemas")
	schemaLists   = words("allOf anyOf oneOf prefixItems")
	plainKeywords = words(`type enum const default title description format multipleOf maximum exclusiveMaximum minimum exclusiveMinimum
		maxLength minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required
		dependentRequired deprecated contentEncoding contentMediaType`)
)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// schema writes one schema. What is not a schema accepts everything.
func (w *schemaWriter) schema(n *jsonschema.Node, depth int) {
	if w.out.Len() > maxFragment {
		w.full = true
		return
	}
	switch {
	case n == nil || depth > maxDepth:
		w.out.WriteString("{}")
	case n.Is(jsonschema.Bool):
		w.out.Write(n.Raw)
	case n.Is(jsonschema.String): // such as additionalProperties: "false"
		w.out.WriteString(map[bool]string{true: "false", false: "{}"}[isFalse(n)])
	case !n.Is(jsonschema.Object):
		w.out.WriteString("{}")
	case w.use == upload && isFile(n):
		w.file(n)
	case w.schemas.legacy && isTrue(n.Get("nullable")) && n.Get("type") == nil:
		w.out.WriteString(`{"anyOf":[`)
		w.object(n, depth)
		w.out.WriteString(`,{"type":"null"}]}`)
	default:
		w.object(n, depth)
	}
}

// object writes a schema that is an object.
func (w *schemaWriter) object(n *jsonschema.Node, depth int) {
	w.out.WriteByte('{')
	first := true
	key := func(name string) {
		if !first {
			w.out.WriteByte(',')
		}
		first = false
		w.out.Write(quote(name))
		w.out.WriteByte(':')
	}
	ref := n.Get("$ref").Str()
	if w.schemas.leads(ref) {
		key("$ref")
		w.refs = append(w.refs, ref)
		w.out.Write(quote("#/$defs/" + w.schemas.name(ref)))
	}
	members := n.Fields()
	if ref != "" && w.schemas.legacy {
		members = nil
	}
	for _, m := range members {
		name, value := m.Key, m.Value
		switch {
		case subschemas[name]:
			key(name)
			w.schema(value, depth+1)
		case schemaMaps[name] && value.Is(jsonschema.Object):
			key(name)
			w.schemaMap(value, depth+1)
		case schemaLists[name] && len(value.List()) > 0:
			key(name)
			w.schemaList(value, depth+1)
		case plainKeywords[name]:
			w.keyword(n, name, value, key)
		}
	}
	w.out.WriteByte('}')
}

// schemaMap writes schemas by name, without those that are not for this use.
func (w *schemaWriter) schemaMap(n *jsonschema.Node, depth int) {
	w.out.WriteByte('{')
	first := true
	for _, m := range n.Fields() {
		if w.hidden(m.Value) {
			continue
		}
		if !first {
			w.out.WriteByte(',')
		}
		first = false
		w.out.Write(quote(m.Key))
		w.out.WriteByte(':')
		w.schema(m.Value, depth)
	}
	w.out.WriteByte('}')
}

// hidden reports whether a property is not for this use.
func (w *schemaWriter) hidden(n *jsonschema.Node) bool {
	return w.use != output && isTrue(n.Get("readOnly")) || w.use == output && isTrue(n.Get("writeOnly"))
}

// schemaList writes a list of schemas.
func (w *schemaWriter) schemaList(n *jsonschema.Node, depth int) {
	w.out.WriteByte('[')
	for i, item := range n.List() {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.schema(item, depth)
		if w.full {
			break
		}
	}
	w.out.WriteByte(']')
}

// keyword writes a keyword with a value that is no schema. Values that are not of the
// keyword's type are left out, because they would make the whole schema unusable.
func (w *schemaWriter) keyword(n *jsonschema.Node, name string, value *jsonschema.Node, key func(string)) {
	legacy := w.schemas.legacy
	nullable := legacy && isTrue(n.Get("nullable"))
	switch name {
	case "title", "description", "format", "pattern", "contentEncoding", "contentMediaType":
		s := value.Str()
		if s == "" {
			return
		}
		if name == "title" || name == "description" {
			s = text.Shorten(strings.TrimSpace(s), maxAbout)
		}
		key(name)
		w.out.Write(quote(s))
	case "type":
		w.types(value, nullable, key)
	case "enum":
		w.enum(value, nullable, key)
	case "required":
		w.required(n, value, key)
	case "const", "default":
		key(name)
		w.value(value)
	case "dependentRequired":
		if value.Is(jsonschema.Object) {
			key(name)
			w.value(value)
		}
	case "uniqueItems", "deprecated":
		if isTrue(value) {
			key(name)
			w.out.WriteString("true")
		}
	default:
		w.bound(n, name, value, key)
	}
}

// bound writes a keyword with a number. In 3.0 those that exclude a bound are true or
// false.
func (w *schemaWriter) bound(n *jsonschema.Node, name string, value *jsonschema.Node, key func(string)) {
	if w.schemas.legacy {
		switch name {
		case "minimum", "maximum":
			if exclusive := "exclusive" + strings.ToUpper(name[:1]) + name[1:]; isTrue(n.Get(exclusive)) {
				name = exclusive
			}
		case "exclusiveMinimum", "exclusiveMaximum":
			return
		}
	}
	if bound, ok := number(value); ok {
		key(name)
		w.out.Write(bound)
	}
}

var jsonTypes = words("null boolean object array number string integer")

// types writes the types of a schema.
func (w *schemaWriter) types(value *jsonschema.Node, nullable bool, key func(string)) {
	var names []string
	for _, name := range value.Words() {
		if name == "file" {
			name = "string"
		}
		if jsonTypes[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	if nullable && !slices.Contains(names, "null") {
		names = append(names, "null")
	}
	key("type")
	if len(names) == 1 {
		w.out.Write(quote(names[0]))
		return
	}
	fmt.Fprintf(&w.out, `["%s"]`, strings.Join(names, `","`)) // they are of jsonTypes
}

// enum writes the values that a schema lists.
func (w *schemaWriter) enum(value *jsonschema.Node, nullable bool, key func(string)) {
	if len(value.List()) == 0 {
		return
	}
	key("enum")
	w.out.WriteByte('[')
	for i, item := range value.List() {
		if i > 0 {
			w.out.WriteByte(',')
		}
		nullable = nullable && !item.Is(jsonschema.Null)
		w.value(item)
	}
	if nullable {
		w.out.WriteString(",null")
	}
	w.out.WriteByte(']')
}

// required writes which properties must be there, without those that are not for this
// use.
func (w *schemaWriter) required(n, value *jsonschema.Node, key func(string)) {
	properties := n.Get("properties")
	var names []string
	for _, name := range value.Words() {
		if value.Is(jsonschema.Array) && !w.hidden(properties.Get(name)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	key("required")
	w.out.WriteByte('[')
	for i, name := range names {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.out.Write(quote(name))
	}
	w.out.WriteByte(']')
}

// value writes any value.
func (w *schemaWriter) value(n *jsonschema.Node) {
	if w.out.Len()+len(n.Raw) > maxFragment {
		w.full = true
		return
	}
	w.out.Write(n.Raw)
}
