package host

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
	prefixAPI    = "api/"
	fileAPIIndex = prefixAPI + "index.json"
	suffixEntry  = ".json" // behind a file's path: what the index says of it
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
	// called at most once, when someone first reads the file or lists files.
	render func() []byte
	// tool is the tool whose schemas a reader of the file knows, if any.
	tool *catalog.Tool
}

// declarations are the files of one view, safe for concurrent use. Nothing is
// made before someone asks for it.
type declarations struct {
	files   func() map[string]*declaration
	entries func() []declarationEntry // by path
	index   func() []byte
}

// newDeclarations returns the files that make names.
func newDeclarations(make func() []declaration) *declarations {
	d := &declarations{}
	d.files = sync.OnceValue(func() map[string]*declaration { return byPath(make()) })
	d.entries = sync.OnceValue(d.list)
	d.index = sync.OnceValue(func() []byte { return encode(d.entries()) })
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

// file serves the virtual files under api/. The tool is the one that a file
// declares.
func (d *declarations) file(path string) (data []byte, of *catalog.Tool, found bool) {
	if path == fileAPIIndex {
		return d.index(), nil, true
	}
	path, ok := strings.CutPrefix(path, prefixAPI)
	if !ok {
		return nil, nil, false
	}
	if f, ok := d.files()[path]; ok {
		return f.render(), f.tool, true
	}
	if of, ok := strings.CutSuffix(path, suffixEntry); ok && d.files()[of] != nil {
		return encode(d.files()[of].entry()), nil, true
	}
	return nil, nil, false
}

// paths are those of all files, in no order. It renders none.
func (d *declarations) paths() []string { return slices.Collect(maps.Keys(d.files())) }

// declarationEntry is what guests learn of a file besides its text.
type declarationEntry struct {
	Path        string `json:"path"`
	Description string `json:"description"`
	Bytes       int    `json:"bytes"` // of UTF-8
}

func (f *declaration) entry() declarationEntry {
	return declarationEntry{f.path, f.description, len(f.render())}
}

// list is what the index says.
func (d *declarations) list() []declarationEntry {
	list := []declarationEntry{}
	for _, f := range d.files() {
		list = append(list, f.entry())
	}
	return sortEntries(list)
}

func sortEntries(list []declarationEntry) []declarationEntry {
	slices.SortFunc(list, func(a, b declarationEntry) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("host: strings and numbers cannot be encoded: " + err.Error()) // they always can
	}
	return b
}

// declare names the files of a view. Each kind of file has its own function.
func (v *view) declare() []declaration {
	var list []declaration
	list = append(list, v.toolDeclarations()...)
	list = append(list, v.declareMCP()...)
	return list
}
