package view

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/quoinhq/quoin/host/catalog"
)

// The virtual files behind the global API: one index, and one file for each
// declaration.
const (
	PrefixAPI    = "api/"
	FileAPIIndex = PrefixAPI + "index.json"
	SuffixEntry  = ".json" // behind a file's path: what the index says of it
)

// declaration is one read-only file that guests find with API.list and read
// with API.read. The guest's own guest.d.ts is not among them: the prelude
// brings it along.
type declaration struct {
	// path is relative, of segments that are neither empty nor "." nor "..", and
	// unique in its view, such as "tools/list_issues.d.ts".
	path string
	// description says in one line what is in the file.
	description string
	// render makes the text, UTF-8 that passes the TypeScript compiler. It is
	// called at most once, when a guest first reads the file or lists files.
	render func() []byte
	// tool is the tool that a reader of the file knows the schemas of, if any.
	tool *catalog.Tool
}

// declarations are the files of one view, safe for concurrent use. Each is
// made when a guest first asks for it.
type declarations struct {
	Files   func() map[string]*declaration
	Entries func() []DeclarationEntry // by path
	Index   func() []byte
}

// newDeclarations returns the files that make names.
func newDeclarations(make func() []declaration) *declarations {
	d := &declarations{}
	d.Files = sync.OnceValue(func() map[string]*declaration { return byPath(make()) })
	d.Entries = sync.OnceValue(d.list)
	d.Index = sync.OnceValue(func() []byte { return Encode(d.Entries()) })
	return d
}

func byPath(list []declaration) map[string]*declaration {
	files := make(map[string]*declaration, len(list))
	for i := range list {
		list[i].render = sync.OnceValue(list[i].render)
		files[list[i].path] = &list[i]
	}
	return files
}

// File serves the virtual files under api/. The tool is the one that a file
// declares.
func (d *declarations) File(path string) (data []byte, of *catalog.Tool, found bool) {
	if path == FileAPIIndex {
		return d.Index(), nil, true
	}
	path, ok := strings.CutPrefix(path, PrefixAPI)
	if !ok {
		return nil, nil, false
	}
	if f, ok := d.Files()[path]; ok {
		return f.render(), f.tool, true
	}
	if of, ok := strings.CutSuffix(path, SuffixEntry); ok && d.Files()[of] != nil {
		return Encode(d.Files()[of].entry()), nil, true
	}
	return nil, nil, false
}

// paths returns the paths of all files, in no order. It does not render them.
func (d *declarations) paths() []string { return slices.Collect(maps.Keys(d.Files())) }

// DeclarationEntry is what guests learn of a file besides its text.
type DeclarationEntry struct {
	Path        string `json:"path"`
	Description string `json:"description"`
	Bytes       int    `json:"bytes"` // of UTF-8
}

func (f *declaration) entry() DeclarationEntry {
	return DeclarationEntry{f.path, f.description, len(f.render())}
}

// list is what the index says.
func (d *declarations) list() []DeclarationEntry {
	list := []DeclarationEntry{}
	for _, f := range d.Files() {
		list = append(list, f.entry())
	}
	return SortEntries(list)
}

func SortEntries(list []DeclarationEntry) []DeclarationEntry {
	slices.SortFunc(list, func(a, b DeclarationEntry) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("host: strings and numbers cannot be encoded: " + err.Error()) // they always can
	}
	return b
}

// declare names the files of a view. Each kind of file has its own function.
func (v *View) declare() []declaration {
	var list []declaration
	list = append(list, v.toolDeclarations()...)
	list = append(list, v.declareMCP()...)
	return list
}
