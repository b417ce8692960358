//go:build cgo

package guestrt

// withCgo is true for builds that cannot be their own sealed worker: cgo hides
// threads from the seal, and the race detector needs more address space than it
// leaves.
const withCgo = true
