//go:build quickjs_c

package guestrt

// nativeBuild says that this test binary has the native engine.
const nativeBuild = true

// guestBuild are the arguments with which the Go tool builds the guest worker that has
// the native engine.
func guestBuild(path string) []string { return []string{"run", "./cmd/quoin-native", "-o", path} }
