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
	foreignDraft bool // $schema names none of the standard
	renamed      bool // a list of items was written as prefixItems
	ids          map[string]bool
	dropped      []string // keywords, as places in the schema
}

// The JSON types that a keyword type may name.
var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// keywordForm is what the value of a keyword has to be.
type keywordForm int

const (
	wantSchema      keywordForm = iota + 1 // a schema
	wantItems                              // a schema; in older drafts also a list of them
	wantSchemas                            // a list of schemas, not empty
	wantSchemaMap                          // an object of schemas
	wantNamesMap                           // an object of lists of names
	wantNamesOrMap                         // an object of schemas and lists of names
	wantNames                              // a list of names, each once
	wantType                               // types
	wantValues                             // a list of values, not empty
	wantList                               // a list
	wantNumber                             // a number
	wantPositive                           // a number above 0
	wantCount                              // a whole number from 0
	wantText                               // a text
	wantBool                               // a boolean
	wantExclusive                          // a number; in draft 4 a boolean
	wantReference                          // a $ref that leads somewhere in the schema
	wantID                                 // an address that no other schema has
	wantAnchor                             // a name that no other schema has
	wantDraft                              // a version of the standard
	wantUnsupported                        // nothing that is read
)

// keywords are those that a validator reads.
var keywords = func() map[string]keywordForm {
	out := map[string]keywordForm{}
	for form, names := range map[keywordForm]string{
		wantSchema:      "additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties propertyNames not if then else contentSchema",
		wantItems:       "items",
		wantSchemas:     "allOf anyOf oneOf prefixItems",
		wantSchemaMap:   "$defs definitions properties patternProperties dependentSchemas",
		wantNamesMap:    "dependentRequired",
		wantNamesOrMap:  "dependencies",
		wantNames:       "required",
		wantType:        "type",
		wantValues:      "enum",
		wantList:        "examples",
		wantNumber:      "minimum maximum",
		wantPositive:    "multipleOf",
		wantCount:       "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains",
		wantText:        "pattern format title description $comment contentEncoding contentMediaType",
		wantBool:        "uniqueItems deprecated readOnly writeOnly $recursiveAnchor",
		wantExclusive:   "exclusiveMinimum exclusiveMaximum",
		wantReference:   "$ref $dynamicRef $recursiveRef",
		wantID:          "$id",
		wantAnchor:      "$anchor $dynamicAnchor",
		wantDraft:       "$schema",
		wantUnsupported: "$vocabulary",
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = form
		}
	}
	return out
}()

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
		return r.keyword(out, keywords[key], v, place)
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

// list appends a list of schemas; what is none becomes one that fits everything, so that
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
func (r *repair) keyword(out []byte, form keywordForm, v *jsonschema.Node, place string) []byte {
	switch form {
	case wantSchema, wantItems:
		if isSchema(v) {
			return r.schema(out, v, place)
		}
		if form == wantItems && v.Is(jsonschema.Array) {
			return r.list(out, v, place)
		}
	case wantSchemas:
		if len(v.List()) > 0 {
			return r.list(out, v, place)
		}
	case wantSchemaMap, wantNamesMap, wantNamesOrMap:
		if v.Is(jsonschema.Object) {
			return r.members(out, v, place, func(out []byte, key string, v *jsonschema.Node, place string) []byte {
				return r.member(out, form, key, v, place)
			})
		}
	case wantNames:
		if v.Is(jsonschema.Array) {
			return r.names(out, v, place)
		}
	default:
		if r.readable(form, v) {
			return append(out, v.Raw...)
		}
	}
	r.drop(place, v)
	return nil
}

// member appends a member of an object such as properties. What is no schema fits every
// value, unless it seems to be a keyword in the wrong place.
func (r *repair) member(out []byte, form keywordForm, key string, v *jsonschema.Node, place string) []byte {
	switch {
	case form != wantNamesMap && isSchema(v):
		return r.schema(out, v, place)
	case form != wantSchemaMap && v.Is(jsonschema.Array):
		return r.names(out, v, place)
	}
	r.drop(place, v)
	if form != wantSchemaMap || keywords[key] != 0 {
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

// readable reports whether the value of a keyword, which has no schema in it, can be read.
func (r *repair) readable(form keywordForm, v *jsonschema.Node) bool {
	switch form {
	case wantType:
		words := v.Words()
		return len(words) > 0 && (v.Is(jsonschema.String) || len(words) == len(v.List())) &&
			!slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(schemaTypes, w) })
	case wantValues:
		return len(v.List()) > 0 && schemalimit.WildNumber(v.Raw) == ""
	case wantList:
		return v.Is(jsonschema.Array)
	case wantNumber, wantPositive, wantCount:
		return isNumber(form, v)
	case wantExclusive:
		return r.draft4 && v.Is(jsonschema.Bool) || !r.draft4 && isNumber(wantNumber, v)
	case wantText:
		return v.Is(jsonschema.String)
	case wantBool:
		return v.Is(jsonschema.Bool)
	case wantReference, wantID, wantAnchor:
		return r.named(form, v)
	case wantDraft:
		return !r.foreignDraft
	case wantUnsupported:
		return false
	}
	return schemalimit.WildNumber(v.Raw) == "" // a keyword that no validator reads
}

// named reports whether a name of a schema, or a reference to one, can be used.
func (r *repair) named(form keywordForm, v *jsonschema.Node) bool {
	name := v.Str()
	if form == wantReference {
		return isSchema(r.doc.Target(name)) || name != "" && name[0] != '#' && bytes.Contains(r.doc.Root().Raw, []byte(`"$id":`+strconv.Quote(name)))
	}
	u, err := url.Parse(name)
	fits := err == nil && u.Fragment == "" || r.tuples // older drafts have anchors in $id
	if form == wantAnchor {
		fits = anchorName.MatchString(name)
		name = "#" + name
	}
	name = strings.TrimSuffix(name, "#")
	if name == "" || !fits || r.ids[name] {
		return false
	}
	r.ids[name] = true
	return true
}

// isNumber reports whether a value is a number that a validator may calculate with.
func isNumber(form keywordForm, v *jsonschema.Node) bool {
	f, err := strconv.ParseFloat(v.Text, 64)
	if !v.Is(jsonschema.Number) || err != nil || schemalimit.WildNumber(v.Raw) != "" {
		return false
	}
	return form == wantNumber || form == wantPositive && f > 0 || form == wantCount && f >= 0 && f == math.Trunc(f)
}

// unread is what could not be read in the schemas of one list, in words.
func unread(tool string, places []string) string {
	const most = 3
	more := ""
	if n := len(places) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return bounded(tool, 100) + ": " + bounded(strings.Join(places[:min(len(places), most)], ", "), 300) + more
}
