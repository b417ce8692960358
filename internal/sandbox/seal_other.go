//go:build !linux

package sandbox

import (
	"crypto/rand"
	"runtime"

	"github.com/quoinhq/quoin/internal/wire"
)

// Seal applies nothing on this system and says so.
func Seal(Policy) []wire.Layer {
	return Unsealed("not available on " + runtime.GOOS)
}

// LimitMemory does nothing on this system.
func LimitMemory(uint64) error { return nil }

// Random fills b from the system's generator.
func Random(b []byte) error {
	_, err := rand.Read(b)
	return err
}

// Verify finds nothing to object to: no layer can be on.
func Verify(int, []wire.Layer) error { return nil }

// UsageOf finds nothing: no worker starts on this system.
func UsageOf(int) (Usage, error) { return Usage{}, nil }
