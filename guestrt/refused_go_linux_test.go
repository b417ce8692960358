//go:build !quickjs_c

package guestrt

import "testing"

// refusedBecause is what a test binary with cgo lacks as a worker.
const refusedBecause = "CGO_ENABLED=0"

func refusedWorker(*testing.T) string { return "/proc/self/exe" }
