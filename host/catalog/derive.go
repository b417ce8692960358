package catalog

// Filter returns the catalog of the tools that keep accepts, with the same
// options. A tool that is left out does not exist there: not by id, in searches,
// suggestions, counts or the fingerprint. keep is called once for each tool, in
// catalog order, MCP tools included.
func (c *Catalog) Filter(keep func(*Tool) bool) *Catalog {
	kept := make([]*Tool, 0, len(c.tools))
	for _, t := range c.tools {
		if keep(t) {
			kept = append(kept, t)
		}
	}
	return assemble(kept, c.options)
}

// With returns the catalog of c's tools and more, as New would make it of all of
// them, with the same options and errors.
func (c *Catalog) With(more []Tool) (*Catalog, error) {
	added, err := accept(more)
	if err != nil {
		return nil, err
	}
	tools := make([]*Tool, 0, len(c.tools)+len(added))
	return arrange(append(append(tools, c.tools...), added...), c.options)
}
