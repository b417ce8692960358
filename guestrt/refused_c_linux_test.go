//go:build quickjs_c

package guestrt

// refusedBecause is what a test binary lacks as a worker.
const refusedBecause = "linked dynamically"
