package pipeline

import (
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
)

// scopeDeclaration is the declaration file of one namespace in one run: what is in
// a scope belongs to the run, and so does the file.
type scopeDeclaration struct {
	view.DeclarationEntry
	text   []byte
	of     *view.View      // the view that has its tools
	tools  []*catalog.Tool // those behind its functions
	failed bool            // it says why there is no scope
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
