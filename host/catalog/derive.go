package catalog

import (
	"slices"
	"sync"
)

// Filter returns the catalog of the tools that keep accepts, with the same
// options. A tool that is left out does not exist there: not by id, in searches,
// suggestions, counts or the fingerprint. keep is called once for each tool, in
// catalog order, MCP tools included. The new catalog shares what c has made for
// searches.
func (c *Catalog) Filter(keep func(*Tool) bool) *Catalog {
	kept := make([]*Tool, 0, len(c.tools))
	for _, t := range c.tools {
		if keep(t) {
			kept = append(kept, t)
		}
	}
	d := assemble(kept, c.options)
	d.index = sync.OnceValue(func() *index { return c.index().filter(d.tools) })
	return d
}

// With returns the catalog of c's tools and more, as New would make it of all of
// them, with the same options and errors. If the new tools come last, as the tools of clients
// do, it shares what c has made for searches.
func (c *Catalog) With(more []Tool) (*Catalog, error) {
	added, err := accept(more)
	if err != nil {
		return nil, err
	}
	tools := make([]*Tool, 0, len(c.tools)+len(added))
	d, err := arrange(append(append(tools, c.tools...), added...), c.options)
	if err == nil && len(d.tools) >= len(c.tools) && slices.Equal(d.tools[:len(c.tools)], c.tools) {
		d.index = sync.OnceValue(func() *index { return c.index().extend(d.tools) })
	}
	return d, err
}
