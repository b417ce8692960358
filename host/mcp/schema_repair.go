package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/schemalimit"
	"github.com/quoinhq/quoin/internal/text"
)

// repairSchema returns a schema of a server without the keywords that cannot be read, and
// names those. What such a keyword constrains becomes unknown: the server judges the
// arguments. A schema that can be read is returned as it is.
func repairSchema(raw json.RawMessage) (json.RawMessage, []string) {
	doc := jsonschema.Bounds{Bytes: maxSchemaBytes, Values: maxSchemaBytes, Nesting: maxDepth}.Parse(raw)
	root := doc.Root()
	if !root.Is(jsonschema.Object) {
		return anyObject, []string{"the schema is no object"}
	}
	r := &repair{doc: doc, ids: map[string]bool{}}
	if s := root.Get("$schema"); s != nil {
		version := draftName.FindStringSubmatch(s.Str())
		if version == nil {
			r.foreignDraft = true
		} else {
			r.draft4 = version[1] == "draft-04"
			r.tuples = version[1] != "draft/2020-12"
		}
	}
	out := r.schema(nil, root, "")
	if len(r.dropped) == 0 && !r.renamed {
		return raw, nil
	}
	return out, r.dropped
}

var (
	draftName  = regexp.MustCompile(`^https?://json-schema\.org/(draft-0[467]|draft/2019-09|draft/2020-12)/schema#?$`)
	anchorName = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)
)

// repair is the repair of one schema.
type repair struct {
	doc          *jsonschema.Document
	draft4       bool // exclusiveMinimum is a boolean
	tuples       bool // items may be a list
	foreignDraft bool // $schema names no draft of the standard
	renamed      bool // a list of items was written as prefixItems
	ids          map[string]bool
	dropped      []string // keywords, as places in the schema
}

// shape is what the value of a keyword consists of.
type shape int

const (
	plainValue       shape = iota // no schema
	oneSchema                     // a schema
	itemList                      // a schema; in older drafts also a list of them
	schemaList                    // a list of schemas, not empty
	schemaMap                     // an object of schemas
	namesMap                      // an object of lists of names
	schemaOrNamesMap              // an object of both
	nameList                      // a list of names, each once
)

// keyword is what a validator expects of the value of a keyword.
type keyword struct {
	shape shape
	fits  func(*repair, *jsonschema.Node) bool // of a plain value; nil if every value does
}

// keywords are those that a validator reads.
var keywords = func() map[string]keyword {
	kind := func(k jsonschema.Kind) func(*repair, *jsonschema.Node) bool {
		return func(_ *repair, v *jsonschema.Node) bool { return v.Is(k) }
	}
	number := func(fits func(float64) bool) func(*repair, *jsonschema.Node) bool {
		return func(_ *repair, v *jsonschema.Node) bool {
			f, err := strconv.ParseFloat(v.Text, 64)
			return v.Is(jsonschema.Number) && err == nil && fits(f)
		}
	}
	out := map[string]keyword{}
	for _, row := range []struct {
		names string
		keyword
	}{
		{"additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties propertyNames not if then else contentSchema", keyword{oneSchema, nil}},
		{"items", keyword{itemList, nil}},
		{"allOf anyOf oneOf prefixItems", keyword{schemaList, nil}},
		{"$defs definitions properties patternProperties dependentSchemas", keyword{schemaMap, nil}},
		{"dependentRequired", keyword{namesMap, nil}},
		{"dependencies", keyword{schemaOrNamesMap, nil}},
		{"required", keyword{nameList, nil}},
		{"type", keyword{plainValue, isType}},
		{"enum", keyword{plainValue, func(_ *repair, v *jsonschema.Node) bool { return len(v.List()) > 0 }}},
		{"examples", keyword{plainValue, kind(jsonschema.Array)}},
		{"pattern format title description $comment contentEncoding contentMediaType", keyword{plainValue, kind(jsonschema.String)}},
		{"uniqueItems deprecated readOnly writeOnly $recursiveAnchor", keyword{plainValue, kind(jsonschema.Bool)}},
		{"minimum maximum", keyword{plainValue, number(func(float64) bool { return true })}},
		{"multipleOf", keyword{plainValue, number(func(f float64) bool { return f > 0 })}},
		{"minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains", keyword{plainValue, number(func(f float64) bool { return f >= 0 && f == math.Trunc(f) })}},
		{"exclusiveMinimum exclusiveMaximum", keyword{plainValue, func(r *repair, v *jsonschema.Node) bool {
			return r.draft4 && v.Is(jsonschema.Bool) || !r.draft4 && v.Is(jsonschema.Number)
		}}},
		{"$ref $dynamicRef $recursiveRef", keyword{plainValue, (*repair).leads}},
		{"$id", keyword{plainValue, (*repair).ownAddress}},
		{"$anchor $dynamicAnchor", keyword{plainValue, (*repair).ownAnchor}},
		{"$schema", keyword{plainValue, func(r *repair, _ *jsonschema.Node) bool { return !r.foreignDraft }}},
		{"$vocabulary", keyword{plainValue, func(*repair, *jsonschema.Node) bool { return false }}},
	} {
		for name := range strings.FieldsSeq(row.names) {
			out[name] = row.keyword
		}
	}
	return out
}()

// isType reports whether a value is a type of JSON, or a list of them.
func isType(_ *repair, v *jsonschema.Node) bool {
	words := v.Words()
	return len(words) > 0 && (v.Is(jsonschema.String) || len(words) == len(v.List())) && !slices.ContainsFunc(words, func(w string) bool {
		return !slices.Contains([]string{"array", "boolean", "integer", "null", "number", "object", "string"}, w)
	})
}

// isSchema reports whether a value may stand where a schema is expected.
func isSchema(n *jsonschema.Node) bool { return n.Is(jsonschema.Object) || n.Is(jsonschema.Bool) }

// drop notes a keyword that is left out.
func (r *repair) drop(place string, n *jsonschema.Node) {
	r.dropped = append(r.dropped, strings.TrimPrefix(place, ".")+" is "+text.Shorten(string(n.Raw), 40))
}

// schema appends a schema without what cannot be read. place is where it stands.
func (r *repair) schema(out []byte, n *jsonschema.Node, place string) []byte {
	if !n.Is(jsonschema.Object) {
		return append(out, n.Raw...)
	}
	if !r.tuples && n.Get("items").Is(jsonschema.Array) && n.Get("prefixItems") == nil {
		n, r.renamed = asTuple(n), true
	}
	return r.members(out, n, place, func(out []byte, key string, v *jsonschema.Node, place string) []byte {
		if place == ".type" && !slices.Contains(v.Words(), "object") { // arguments are an object
			r.drop(place, v)
			return nil
		}
		return r.keyword(out, key, v, place)
	})
}

// asTuple writes a list of schemas for items as draft 2020-12 does. Most schemas name no
// draft, and many have the form of an older one.
func asTuple(n *jsonschema.Node) *jsonschema.Node {
	names := map[string]string{"items": "prefixItems", "additionalItems": "items"}
	out := &jsonschema.Node{Kind: jsonschema.Object, Raw: n.Raw}
	for _, m := range n.Members {
		if name, ok := names[m.Key]; ok {
			m.Key = name
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// members appends an object. each appends a value, or returns nil to leave the member out.
func (r *repair) members(out []byte, n *jsonschema.Node, place string, each func(out []byte, key string, v *jsonschema.Node, place string) []byte) []byte {
	out = append(out, '{')
	start := len(out)
	for _, m := range n.Fields() {
		name, err := json.Marshal(m.Key)
		if err != nil {
			continue // strings can always be encoded
		}
		before := len(out)
		if before > start {
			out = append(out, ',')
		}
		out = append(append(out, name...), ':')
		if longer := each(out, m.Key, m.Value, place+"."+m.Key); longer != nil {
			out = longer
		} else {
			out = out[:before]
		}
	}
	return append(out, '}')
}

// list appends a list of schemas; what is no schema becomes one that fits everything, so that
// the places of the others stay.
func (r *repair) list(out []byte, n *jsonschema.Node, place string) []byte {
	out = append(out, '[')
	for i, item := range n.List() {
		if i > 0 {
			out = append(out, ',')
		}
		at := place + "." + strconv.Itoa(i)
		if isSchema(item) {
			out = r.schema(out, item, at)
			continue
		}
		r.drop(at, item)
		out = append(out, "{}"...)
	}
	return append(out, ']')
}

// keyword appends the value of a keyword. It returns nil for one that cannot be read.
func (r *repair) keyword(out []byte, name string, v *jsonschema.Node, place string) []byte {
	k, known := keywords[name]
	switch {
	case k.shape == plainValue && (k.fits == nil || k.fits(r, v)) && schemalimit.WildNumber(v.Raw) == "":
		return append(out, v.Raw...)
	case (k.shape == oneSchema || k.shape == itemList) && isSchema(v):
		return r.schema(out, v, place)
	case k.shape == itemList && v.Is(jsonschema.Array), k.shape == schemaList && len(v.List()) > 0:
		return r.list(out, v, place)
	case k.shape == nameList && v.Is(jsonschema.Array):
		return r.names(out, v, place)
	case known && v.Is(jsonschema.Object) && (k.shape == schemaMap || k.shape == namesMap || k.shape == schemaOrNamesMap):
		return r.members(out, v, place, func(out []byte, key string, v *jsonschema.Node, place string) []byte {
			return r.member(out, k.shape, key, v, place)
		})
	}
	r.drop(place, v)
	return nil
}

func isKeyword(name string) bool {
	_, ok := keywords[name]
	return ok
}

// member appends a member of an object such as properties. What is no schema fits every
// value, unless it seems to be a keyword in the wrong place.
func (r *repair) member(out []byte, within shape, key string, v *jsonschema.Node, place string) []byte {
	switch {
	case within != namesMap && isSchema(v):
		return r.schema(out, v, place)
	case within != schemaMap && v.Is(jsonschema.Array):
		return r.names(out, v, place)
	}
	r.drop(place, v)
	if within != schemaMap || isKeyword(key) {
		return nil
	}
	return append(out, "{}"...)
}

// names appends a list of names, each once.
func (r *repair) names(out []byte, v *jsonschema.Node, place string) []byte {
	words := v.Words()
	if len(words) == len(v.Items) {
		return append(out, v.Raw...)
	}
	list, err := json.Marshal(append([]string{}, words...))
	if err != nil {
		return nil // texts can always be encoded
	}
	r.drop(place, v)
	return append(out, list...)
}

// leads reports whether a reference leads to a schema of the document.
func (r *repair) leads(v *jsonschema.Node) bool {
	to := v.Str()
	return isSchema(r.doc.Target(to)) || to != "" && to[0] != '#' && bytes.Contains(r.doc.Root().Raw, []byte(`"$id":`+strconv.Quote(to)))
}

// ownAddress reports whether an address can be used, and no other schema has it. Older drafts
// have anchors in it.
func (r *repair) ownAddress(v *jsonschema.Node) bool {
	u, err := url.Parse(v.Str())
	return (err == nil && u.Fragment == "" || r.tuples) && r.own(strings.TrimSuffix(v.Str(), "#"))
}

// ownAnchor reports whether a name can be used, and no other schema has it.
func (r *repair) ownAnchor(v *jsonschema.Node) bool {
	return anchorName.MatchString(v.Str()) && r.own("#"+v.Str())
}

func (r *repair) own(name string) bool {
	if name == "" || r.ids[name] {
		return false
	}
	r.ids[name] = true
	return true
}

// unread names a tool, and what could not be read in its input schema.
func unread(tool string, places []string) string {
	const most = 3
	more := ""
	if n := len(places) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return bounded(tool, 100) + " (" + bounded(strings.Join(places[:min(len(places), most)], ", "), 180) + more + ")"
}

// anyObject is the schema of a tool that does not declare one.
var anyObject = json.RawMessage(`{"type":"object"}`)
