package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"regexp"
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
}

// LeftOut is an operation that cannot be offered.
type LeftOut struct{ Name, Reason string }

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
}

// Parse reads a document. It returns an error for one that is no OpenAPI 3 at all.
func Parse(raw []byte) (*Document, error) {
	normal, err := normalise(raw)
	if err != nil {
		return nil, err
	}
	tree := jsonschema.Bounds{Bytes: maxText, Values: 2 * maxValues, Nesting: maxDepth + 1}.Parse(normal)
	root := tree.Root()
	version := root.Get("openapi").Str()
	switch {
	case !root.Is(jsonschema.Object):
		return nil, errors.New("it is not an object with the member openapi")
	case root.Get("openapi") == nil && root.Get("swagger") != nil:
		return nil, fmt.Errorf("it is Swagger %.20q; convert it to OpenAPI 3", root.Get("swagger").Str())
	case !versionPattern.MatchString(version):
		return nil, fmt.Errorf("its version is %.20q; expected OpenAPI 3.0, 3.1 or 3.2", version)
	}
	r := &reader{
		tree:    tree,
		schemas: newSchemas(tree, strings.HasPrefix(version, "3.0")),
		doc:     &Document{Format: version},
		names:   map[string]int{},
	}
	r.document(root)
	return r.doc, nil
}

var versionPattern = regexp.MustCompile(`^3\.[0-2](\.|$)`)

// reader takes operations out of the tree of a document.
type reader struct {
	tree    *jsonschema.Document
	schemas *schemas
	doc     *Document
	names   map[string]int // how often an operationId stands in the document
	bytes   int
}

// maxHops is how many references in a row are followed.
const maxHops = 16

// follow returns what a node stands for: itself, or what its reference leads to, nil if
// that is nowhere.
func (r *reader) follow(n *jsonschema.Node) *jsonschema.Node {
	for range maxHops {
		ref := n.Get("$ref")
		if ref == nil {
			return n
		}
		n = r.tree.Target(ref.Str())
	}
	return nil
}

// document reads everything.
func (r *reader) document(root *jsonschema.Node) {
	info := root.Get("info")
	r.doc.Title, r.doc.Version = text.Shorten(info.Get("title").Str(), maxTitle), text.Shorten(info.Get("version").Str(), maxTitle)
	for _, s := range root.Get("servers").List() {
		r.doc.Servers = append(r.doc.Servers, serverURL(s))
	}
	paths := root.Get("paths").Fields()
	for _, p := range paths {
		for _, op := range operationsOf(r.follow(p.Value)) {
			r.names[op.Get("operationId").Str()]++
		}
	}
	taken := map[string]bool{}
	for _, p := range paths {
		item := r.follow(p.Value)
		for method, op := range operationsOf(item) {
			o := Operation{Method: method, Path: p.Key, Name: r.name(method, p.Key, op)}
			reason := ""
			switch {
			case len(r.doc.Operations) >= maxOperations || r.bytes > maxSchemas:
				reason = "the document has too many"
			case taken[o.Name]:
				reason = "another operation has this name"
			default:
				reason = r.operation(&o, item, op)
			}
			if reason != "" {
				r.doc.LeftOut = append(r.doc.LeftOut, LeftOut{Name: o.Name, Reason: reason})
				continue
			}
			taken[o.Name] = true
			r.bytes += len(o.Input) + len(o.Output)
			r.doc.Operations = append(r.doc.Operations, o)
		}
	}
}

// serverURL returns the address of a server with its variables at their defaults.
func serverURL(s *jsonschema.Node) string {
	address := text.Shorten(s.Get("url").Str(), 1024)
	for _, v := range s.Get("variables").Fields() {
		address = text.Shorten(strings.ReplaceAll(address, "{"+v.Key+"}", v.Value.Get("default").Str()), 1024)
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
	if id := op.Get("operationId").Str(); id != "" && len(id) <= 256 && r.names[id] == 1 && strings.TrimSpace(id) == id && text.IsPrintable(id) {
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
