package namespaces

// Tools answers what a run may reach; a run's catalog is one.
type Tools interface {
	// Owned reports whether a tool of that name, owned by that plugin, is
	// visible to the run. Tools of the same name under other owners do not
	// matter.
	Owned(toolName, pluginID string) bool
}

// Visible returns the namespaces a run may see, sorted by id: those whose
// required tools are all visible to the run and owned by the namespace's own
// plugin.
func (r *Registry) Visible(t Tools) []Registration {
	return nil
}
