package host

// The layers of a sealed worker, as its report names them.
const (
	layerNamespaces = "namespaces"
	layerLandlock   = "landlock"
	layerSeccomp    = "seccomp"
	layerOn         = "on"
)

// tier grades a worker by its layers: A has them all, B lacks namespaces, C lacks
// Landlock as well, D lacks the system call filter.
func tier(layers map[string]string) string {
	on := func(name string) bool { return layers[name] == layerOn }
	switch {
	case !on(layerSeccomp):
		return "D"
	case !on(layerLandlock):
		return "C"
	case !on(layerNamespaces):
		return "B"
	default:
		return "A"
	}
}
