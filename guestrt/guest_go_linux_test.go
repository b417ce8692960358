//go:build !quickjs_c

package guestrt

// guestBuild are the arguments with which the Go tool builds the guest worker.
func guestBuild(path string) []string {
	return []string{"build", "-trimpath", "-buildmode=exe", "-o", path, "./cmd/quoin-guest"}
}
