package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// maxFiles bounds the files of one document. All of them together have at most maxText.
const maxFiles = 10_000

// files are those next to a document.
type files struct {
	dir  *os.Root // nothing outside is opened, also by symbolic links
	own  string   // the name of the document
	room int      // bytes that may still be read
	read map[string]*file
}

// file is what was read of one, or why it was not.
type file struct {
	doc    *jsonschema.Document
	reason string
}

// get returns a file by its path from the directory of the document.
func (f *files) get(name string) *file {
	if known := f.read[name]; known != nil {
		return known
	}
	out := &file{}
	f.read[name] = out
	switch {
	case !filepath.IsLocal(filepath.FromSlash(name)):
		out.reason = "a part of it is in a file outside the directory of the document"
	case len(f.read) > maxFiles || f.room <= 0:
		out.reason = fmt.Sprintf("the document has more than %d files, or more than %d MiB in them", maxFiles, maxText>>20)
	default:
		var err error
		var wrong *fs.PathError
		if out.doc, err = f.load(name); errors.As(err, &wrong) {
			err = wrong.Err // without the name, by which reasons would differ
		}
		if out.doc == nil {
			out.reason = fmt.Sprint("a part of it is in a file that cannot be read: ", cmp.Or(err, errTooLarge))
		}
	}
	return out
}

// load reads a file.
func (f *files) load(name string) (*jsonschema.Document, error) {
	info, err := f.dir.Stat(filepath.FromSlash(name)) // first, because opening a pipe waits
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > int64(f.room):
		return nil, errTooLarge
	}
	raw, err := f.dir.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	f.room -= len(raw)
	normal, err := normalise(raw)
	if err != nil {
		if errors.Is(err, errTooLarge) || errors.Is(err, errTooMany) || errors.Is(err, errTooDeep) {
			f.room = 0 // each further file could cost as much
		}
		return nil, err
	}
	f.room -= max(0, len(normal)-len(raw))
	doc := bounds.Parse(normal)
	f.absolute(doc.Root(), name)
	return doc, nil
}

// absolute makes all references of a file such as stand in the document itself.
func (f *files) absolute(n *jsonschema.Node, name string) {
	for i := range n.Fields() {
		m := &n.Members[i]
		if m.Key == "$ref" && m.Value.Is(jsonschema.String) {
			m.Value = &jsonschema.Node{Kind: jsonschema.String, Text: f.resolve(name, m.Value.Text)}
		}
		f.absolute(m.Value, name)
	}
	for _, item := range n.List() {
		f.absolute(item, name)
	}
}

// resolve returns a reference of a file as the document would write it.
func (f *files) resolve(from, ref string) string {
	to, fragment, _ := strings.Cut(ref, "#")
	switch {
	case to == "":
		to = from
	case strings.HasPrefix(to, "/") || strings.Contains(to, "://"):
		return ref
	default:
		if plain, err := url.PathUnescape(to); err == nil {
			to = plain
		}
		to = path.Join(path.Dir(from), to)
	}
	if to == f.own {
		to = ""
	}
	if fragment != "" || to == "" {
		fragment = "#" + fragment
	}
	return to + fragment
}

// references lead from one part of a document to another.
type references struct {
	tree  *jsonschema.Document
	files *files                       // nil for a document that is read alone
	lost  struct{ ref, reason string } // the last reference that could not be followed
}

// target returns what a reference leads to, or why it leads nowhere.
func (r *references) target(ref string) (n *jsonschema.Node, reason string) {
	if n := r.tree.Target(ref); n != nil {
		return n, ""
	}
	name, fragment, _ := strings.Cut(ref, "#")
	doc := r.tree
	switch {
	case name == "":
	case strings.Contains(name, "://"):
		return nil, "a part of it stands at another address, and no other is read; bundle the document into one file"
	case r.files == nil:
		return nil, "a part of it is in another file, and a document at an address is read alone; bundle it into one file"
	default:
		f := r.files.get(name)
		if f.doc == nil {
			return nil, f.reason
		}
		doc = f.doc
	}
	if n := doc.Target("#" + fragment); n != nil {
		return n, ""
	}
	return nil, "a part of it is not where its reference leads"
}

// maxHops is how many references in a row are followed.
const maxHops = 16

// follow returns what a node stands for: itself, or what its reference leads to.
func (r *references) follow(n *jsonschema.Node) (to *jsonschema.Node, reason string) {
	for range maxHops {
		ref := n.Get("$ref")
		if ref == nil {
			return n, ""
		}
		if n, reason = r.target(ref.Str()); n == nil {
			r.lost.ref, r.lost.reason = text.Shorten(ref.Str(), 256), reason
			return nil, reason
		}
	}
	return nil, "a part of it refers to itself"
}

// bounds are the bounds of the tree of one file.
var bounds = jsonschema.Bounds{Bytes: maxText, Values: 2 * maxValues, Nesting: maxDepth + 1}
