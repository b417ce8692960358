package namespaces

// Tools answers what a run may reach; a run's catalog is one.
type Tools interface {
	// Owned reports whether a tool of that name, owned by that plugin, is
	// visible to the run. Tools of the same name under other owners do not
	// matter: they neither open a namespace nor close one.
	Owned(toolName, pluginID string) bool
}

// Visible returns the namespaces a run may see, sorted by id: the namespaces
// with required tools that are all visible to the run and owned by the
// namespace's own plugin. It asks t outside every lock.
func (r *Registry) Visible(t Tools) []Registration {
	return r.snapshot().list(func(reg *Registration) bool { return reg.visible(t) })
}

// visible is the one place that decides whether a run may see a namespace.
func (reg *Registration) visible(t Tools) bool {
	for _, tool := range reg.RequiredTools {
		if !t.Owned(tool, reg.PluginID) {
			return false
		}
	}
	return len(reg.RequiredTools) > 0
}

// arrayIndex reads an array index in canonical decimal form.
func arrayIndex(segment string) (int, bool) {
	if segment == "" || len(segment) > 9 || segment[0] == '0' && len(segment) > 1 {
		return 0, false
	}
	n := 0
	for i := range len(segment) {
		if segment[i] < '0' || segment[i] > '9' {
			return 0, false
		}
		n = n*10 + int(segment[i]-'0')
	}
	return n, true
}
