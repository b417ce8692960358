//go:build !linux

package sandbox

import (
	"crypto/rand"
	"runtime"

	"github.com/quoinhq/quoin/guestrt/wire"
)

// Seal applies nothing on this system and says so.
func Seal(Policy) []wire.Layer {
	detail := "not available on " + runtime.GOOS
	names := []string{LayerUser, LayerEnvironment, LayerFiles, LayerDumpable, LayerLimits, LayerPrivileges}
	layers := make([]wire.Layer, 0, len(names)+3)
	for _, n := range names {
		layers = append(layers, wire.Layer{Name: n, State: wire.LayerOff, Detail: detail})
	}
	return append(layers, missing()...)
}

// LimitMemory does nothing on this system.
func LimitMemory(uint64) error { return nil }

// Random fills b from the system's generator.
func Random(b []byte) error {
	_, err := rand.Read(b)
	return err
}
