//go:build linux && soak

package plugins

// How much with the build tag soak.
const (
	streamReloads = 200
	streamCalls   = 400
	flatReloads   = 1000
)
