//go:build !quickjs_sanitize

package guestserver

import (
	"runtime/debug"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

func seal() []wire.Layer { return sandbox.Seal(sandbox.Policy{}) }

// limitMemory bounds the process, and below that the Go runtime, which would rather
// take memory than collect it.
func limitMemory(guest uint64) error {
	debug.SetMemoryLimit(sandbox.RuntimeMemory(guest))
	return sandbox.LimitMemory(guest)
}
