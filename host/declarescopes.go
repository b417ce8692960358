package host

import (
	"context"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/declare"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/namespaces"
)

const prefixScopeAPI, suffixDeclaration = "namespaces/", ".d.ts"

// maxScopeText bounds the description of a namespace in a list of files, in bytes.
const maxScopeText = 300

// scopeDeclaration is the declaration file of one namespace in one run: what is in
// a scope belongs to the run, and so does the file.
type scopeDeclaration struct {
	view.DeclarationEntry
	text   []byte
	of     *view.View      // whose tools it is made of
	tools  []*catalog.Tool // those behind its functions
	failed bool            // it says why there is no scope
}

// apiFile serves the files behind API: those of the view and, below namespaces/,
// the run's own. A plugin is asked for a scope only by who reads the file of its
// namespace, or the list of all files, which tells their sizes.
func (r *run) apiFile(ctx context.Context, path string) (data []byte, found bool) {
	v := r.view()
	if path == view.FileAPIIndex && len(v.Namespaces) > 0 {
		return r.apiIndex(ctx, v), true
	}
	if name, ok := strings.CutPrefix(path, view.PrefixAPI+prefixScopeAPI); ok {
		return r.scopeFile(ctx, v, name)
	}
	data, tool, found := v.Declarations.File(path)
	if tool != nil {
		r.used.note(tool)
	}
	return data, found
}

func (r *run) apiIndex(ctx context.Context, v *view.View) []byte {
	list := append([]view.DeclarationEntry{}, v.Declarations.Entries()...)
	for i := range v.Namespaces {
		list = append(list, r.declareScope(ctx, v, &v.Namespaces[i], false).DeclarationEntry)
	}
	return view.Encode(view.SortEntries(list))
}

// scopeFile serves <Global>.d.ts and what the index says of it.
func (r *run) scopeFile(ctx context.Context, v *view.View, name string) (data []byte, found bool) {
	name, entry := strings.CutSuffix(name, view.SuffixEntry)
	global, ok := strings.CutSuffix(name, suffixDeclaration)
	if !ok {
		return nil, false
	}
	for i := range v.Namespaces {
		reg := &v.Namespaces[i]
		switch {
		case reg.GlobalName != global:
			continue
		case entry:
			return view.Encode(r.declareScope(ctx, v, reg, false).DeclarationEntry), true
		}
		d := r.declareScope(ctx, v, reg, true)
		for _, tool := range d.tools {
			r.used.note(tool)
		}
		return d.text, true
	}
	return nil, false
}

// declareScope returns the file of a namespace, making it on first use and when
// the tools have changed. If there was no scope the last time, it asks for one
// if again says so.
func (r *run) declareScope(ctx context.Context, v *view.View, reg *namespaces.Registration, again bool) *scopeDeclaration {
	if d := r.scopes.declared[reg.ID]; d != nil && d.of == v && !(d.failed && again) {
		return d
	}
	d := &scopeDeclaration{of: v}
	scope, err := r.scope(ctx, reg)
	if err != nil {
		d.failed, d.text = true, declare.Unavailable(unavailable(reg, err).Message)
	} else {
		d.text = declare.Namespace(reg, scope, d.finder(reg.PluginID))
	}
	d.DeclarationEntry = view.DeclarationEntry{
		Path:        prefixScopeAPI + reg.GlobalName + suffixDeclaration,
		Description: text.Shorten(strings.ToValidUTF8(strings.Join(strings.Fields(reg.Description), " "), "\uFFFD"), maxScopeText),
		Bytes:       len(d.text),
	}
	if r.scopes.declared == nil {
		r.scopes.declared = make(map[string]*scopeDeclaration)
	}
	r.scopes.declared[reg.ID] = d
	return d
}

// finder finds tools of a plugin for a file and remembers which they are.
func (d *scopeDeclaration) finder(pluginID string) func(name string) *catalog.Tool {
	return func(name string) *catalog.Tool {
		tool, ok := d.of.Catalog.ByOwner(name, pluginID)
		if !ok {
			return nil
		}
		d.tools = append(d.tools, tool)
		return tool
	}
}
