//go:build !quickjs_c

package guestrt

// refusedBecause is what a test binary with cgo lacks as a worker.
const refusedBecause = "CGO_ENABLED=0"
