//go:build linux && !soak

package plugins

// How much without the build tag soak.
const (
	streamReloads = 15
	streamCalls   = 50 // of each generation, at least
	flatReloads   = 30
)
