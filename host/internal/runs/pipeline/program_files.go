package pipeline

import (
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/programs"
)

// The virtual files of saved programs.
const (
	filePrograms     = "programs.json" // what programs.list returns
	prefixProgram    = "program/"      // the text of one, by its key
	prefixProgramAPI = "programs/"     // below api/: the declaration of one
)

// programsFile lists the saved programs.
func (r Files) programsFile() []byte {
	list := []programEntry{}
	for _, p := range r.visiblePrograms() {
		list = append(list, entryOf(p))
	}
	return view.Encode(list)
}

// programFile returns the text of a program that a call has allowed the run to start. After
// a restart of the host only the key is left, which is as good: it is the key of the text.
func (r Files) programFile(key string) (data []byte, found bool) {
	r.saved.mu.Lock()
	p := r.saved.byKey[key]
	r.saved.mu.Unlock()
	if p == nil {
		list := r.visiblePrograms()
		i := slices.IndexFunc(list, func(p *programs.Program) bool { return p.Key() == key })
		if i < 0 {
			return nil, false
		}
		p = list[i]
	}
	return view.Encode(map[string]string{"language": p.Language, "code": p.Code}), true
}

// programEntries are the files that declare saved programs.
func (r Files) programEntries() []view.DeclarationEntry {
	var out []view.DeclarationEntry
	for _, p := range r.visiblePrograms() {
		out = append(out, declarationEntry(p))
	}
	return out
}

func declarationEntry(p *programs.Program) view.DeclarationEntry {
	return view.DeclarationEntry{Path: prefixProgramAPI + p.Name + suffixDeclaration, Description: p.Description, Bytes: len(declareProgram(p))}
}

// programDeclaration serves programs/<name>.d.ts and what the index says of it.
func (r Files) programDeclaration(name string) (data []byte, found bool) {
	name, entry := strings.CutSuffix(name, view.SuffixEntry)
	name, ok := strings.CutSuffix(name, suffixDeclaration)
	if !ok {
		return nil, false
	}
	for _, p := range r.visiblePrograms() {
		switch {
		case p.Name != name:
		case entry:
			return view.Encode(declarationEntry(p)), true
		default:
			return declareProgram(p), true
		}
	}
	return nil, false
}

func declareProgram(p *programs.Program) []byte {
	return declare.Program(p.Name, p.Description, p.Input)
}

// search finds tools and saved programs.
func (r *Run) search(query string, limit int) []catalog.Entry {
	list := r.visiblePrograms()
	found := r.View().SearchIn(r.Env.programIndex.of(r.View().Catalog, list), query, limit)
	for i := range found {
		if j := slices.IndexFunc(list, func(p *programs.Program) bool { return p.ToolID() == found[i].ID }); j >= 0 {
			found[i].Call = list[j].Call()
		}
	}
	return found
}

// describeProgram describes a saved program by its id, or returns nil.
func (r *Run) describeProgram(id string) *catalog.Description {
	if !strings.HasPrefix(id, programs.Prefix) {
		return nil
	}
	list := r.visiblePrograms()
	d, err := r.Env.programIndex.of(r.View().Catalog, list).DescribeID(id)
	if err != nil {
		return nil
	}
	if i := slices.IndexFunc(list, func(p *programs.Program) bool { return p.ToolID() == id }); i >= 0 {
		d.Call = list[i].Call()
	}
	return d
}
