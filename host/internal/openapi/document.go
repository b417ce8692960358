package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// The bounds of what is taken from a document.
const (
	maxOperations  = 10_000
	maxSchemas     = 32 << 20 // bytes of all schemas
	maxParameters  = 200      // of one operation
	maxDescription = 4 << 10
	maxTitle       = 256
)

// Document is what was read of a description.
type Document struct {
	// Format is the version of OpenAPI.
	Format         string
	Title, Version string
	// Servers are the addresses that the document names, as it writes them.
	Servers []string
	// Operations are those that can be called, in the order of the document. Their
	// names are unique.
	Operations []Operation
	// LeftOut are those that cannot.
	LeftOut []LeftOut
	source  string // where it was read, if that is known
}

// LeftOut is an operation that cannot be offered, or a path that cannot be read.
type LeftOut struct {
	Name, Reason string
	Reference    string // that leads nowhere, if that is the reason
}

// Operation is one method of one path.
type Operation struct {
	Name               string
	Method, Path       string
	Title, Description string
	Input              json.RawMessage
	Output             json.RawMessage // nil if it is not known
	Safe, Idempotent   bool            // as the protocol defines its method
	parameters         []parameter
	body               *body
	accept             string
	servers            []string // of its own
	base               *url.URL // the one of them that is used
}

// Parse reads a document without any other file. It returns an error for one that is no
// OpenAPI 3 at all.
func Parse(raw []byte) (*Document, error) { return read(raw, nil) }

// read reads a document with the files next to it.
func read(raw []byte, next *files) (*Document, error) {
	normal, err := normalise(raw)
	if err != nil {
		return nil, err
	}
	tree := bounds.Parse(normal)
	root := tree.Root()
	version := word(root.Get("openapi"))
	switch {
	case !root.Is(jsonschema.Object):
		return nil, errors.New("it is not an object with the member openapi")
	case root.Get("openapi") == nil && root.Get("swagger") != nil:
		return nil, fmt.Errorf("it is Swagger %.20q; convert it to OpenAPI 3", word(root.Get("swagger")))
	case !versionPattern.MatchString(version):
		return nil, fmt.Errorf("its version is %.20q; expected OpenAPI 3.0, 3.1 or 3.2", version)
	}
	if next != nil {
		next.absolute(root, next.own)
	}
	refs := &references{tree: tree, files: next}
	r := &reader{
		references: refs,
		schemas:    newSchemas(refs, strings.HasPrefix(version, "3.0")),
		doc:        &Document{Format: version},
		names:      map[string]int{},
		taken:      map[string]bool{},
	}
	r.document(root)
	return r.doc, nil
}

// word returns a text, also one without quotes that YAML takes for a number or a truth.
func word(n *jsonschema.Node) string {
	if n.Is(jsonschema.Bool) {
		return string(n.Raw)
	}
	if n.Is(jsonschema.Number) {
		return n.Text
	}
	return n.Str()
}

var versionPattern = regexp.MustCompile(`^3\.[0-2](\.|$)`)

// reader takes operations out of the tree of a document.
type reader struct {
	*references
	schemas *schemas
	doc     *Document
	names   map[string]int // how often an operationId stands in the document
	bytes   int
	taken   map[string]bool // names of operations
}

// document reads everything.
func (r *reader) document(root *jsonschema.Node) {
	info := root.Get("info")
	r.doc.Title, r.doc.Version = text.Shorten(word(info.Get("title")), maxTitle), text.Shorten(word(info.Get("version")), maxTitle)
	r.doc.Servers = serversOf(root)
	paths := root.Get("paths").Fields()
	if len(paths) == 0 {
		r.leaveOut("/", "the document has no paths, and only these are offered")
	}
	items := make([]*jsonschema.Node, len(paths))
	for i, p := range paths {
		item, reason := r.follow(p.Value)
		if reason != "" {
			r.leaveOut(p.Key, reason)
		} else if item != p.Value { // something may stand next to the reference
			item = &jsonschema.Node{Kind: jsonschema.Object, Members: slices.Concat(p.Value.Fields(), item.Fields())}
		}
		items[i] = item
		for _, op := range operationsOf(item) {
			op, _ = r.follow(op)
			r.names[word(op.Get("operationId"))]++
		}
	}
	for i, item := range items {
		for method, op := range operationsOf(item) {
			r.offer(method, paths[i].Key, item, op)
		}
	}
}

// offer adds an operation, or says why it cannot be offered.
func (r *reader) offer(method, path string, item, op *jsonschema.Node) {
	op, reason := r.follow(op)
	o := Operation{Method: method, Path: path, Name: r.name(method, path, op)}
	switch {
	case reason != "":
	case len(r.doc.Operations) >= maxOperations || r.bytes > maxSchemas:
		reason = "the document has too many"
	case r.taken[o.Name]:
		reason = "another operation has this name"
	default:
		reason = r.operation(&o, item, op)
	}
	if reason != "" {
		r.leaveOut(o.Name, reason)
		return
	}
	r.taken[o.Name] = true
	r.bytes += len(o.Input) + len(o.Output)
	r.doc.Operations = append(r.doc.Operations, o)
}

// leaveOut notes what cannot be offered.
func (r *reader) leaveOut(name, reason string) {
	out := LeftOut{Name: name, Reason: reason}
	if reason == r.lost.reason {
		out.Reference = r.lost.ref
	}
	r.doc.LeftOut = append(r.doc.LeftOut, out)
}

// serversOf returns the addresses of servers.
func serversOf(n *jsonschema.Node) (out []string) {
	servers := n.Get("servers")
	if servers.Is(jsonschema.Object) || servers.Is(jsonschema.String) { // one instead of a list
		return []string{serverURL(servers)}
	}
	for _, s := range servers.List() {
		out = append(out, serverURL(s))
	}
	return out
}

// serverURL returns the address of a server with its variables at their defaults.
func serverURL(s *jsonschema.Node) string {
	address := text.Shorten(cmp.Or(s.Str(), s.Get("url").Str()), 1024)
	for _, v := range s.Get("variables").Fields() {
		address = text.Shorten(strings.ReplaceAll(address, "{"+v.Key+"}", word(v.Value.Get("default"))), 1024)
	}
	return address
}

// methods are those that are offered, in the order in which they are.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// operationsOf yields the operations of a path by method.
func operationsOf(item *jsonschema.Node) iter.Seq2[string, *jsonschema.Node] {
	return func(yield func(string, *jsonschema.Node) bool) {
		for _, m := range methods {
			if op := item.Get(strings.ToLower(m)); op.Is(jsonschema.Object) && !yield(m, op) {
				return
			}
		}
	}
}

// name is what an operation is called: its own id, if no other has the same, else its
// method and path. So the name of an operation does not depend on the order of others.
func (r *reader) name(method, path string, op *jsonschema.Node) string {
	if id := word(op.Get("operationId")); id != "" && len(id) <= 256 && r.names[id] == 1 && strings.TrimSpace(id) == id && text.IsPrintable(id) {
		return id
	}
	var b strings.Builder
	b.WriteString(strings.ToLower(method))
	for _, word := range strings.FieldsFunc(path, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		b.WriteString("_" + word)
	}
	return text.Shorten(b.String(), 200)
}
