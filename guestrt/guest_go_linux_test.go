//go:build !quickjs_c

package guestrt

// nativeBuild says that this test binary has the native engine.
const nativeBuild = false

// guestBuild are the arguments with which the Go tool builds the guest worker.
func guestBuild(path string) []string {
	return []string{"build", "-trimpath", "-buildmode=exe", "-o", path, "./cmd/quoin-guest"}
}
