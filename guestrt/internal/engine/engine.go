// Package engine says what Quoin needs of a JavaScript engine: virtual machines
// that run in turns, with a state that can be taken out as a whole between two
// turns.
//
// No value, pointer or context of an engine crosses this interface, and no Go
// callback runs guest code, so every return to the caller is a point at which a
// snapshot may be taken.
package engine

import (
	"time"

	"github.com/quoinhq/quoin/internal/wire"
)

// Files serves the guest's virtual, read-only files. It is called during a
// turn, on the goroutine of that turn, and must not touch the VM.
type Files func(path string) (data []byte, found bool)

// Options configure one VM.
type Options struct {
	// Limits bound the guest. At New a zero field means its default, at
	// Restore the value the image was taken with.
	Limits wire.Limits
	// Seed makes this VM's Math.random differ from every other VM's. Callers
	// fill it from a cryptographic source.
	Seed [32]byte
	// Files may be nil: then no virtual file exists.
	Files Files
}

// Cell is a program ready for the engine.
type Cell struct {
	// Source is a JavaScript expression. Its value is an async function without
	// parameters.
	Source []byte
	// FileName appears in stack frames.
	FileName string
	// Config is the JSON document that the guest prelude starts with.
	Config []byte
}

// VM is one guest. Its methods must not be called concurrently. An error means
// that the VM is dead for a reason that is not the guest's; whatever the guest
// did wrong is in the report, and then too the VM must be discarded.
type VM interface {
	// Load compiles the cell, starts it and runs it until it waits.
	Load(c Cell, deadline time.Time) (wire.Report, error)
	// Turn delivers settlements, fires due timers and runs the guest until it
	// waits again. A zero deadline does not bound it.
	Turn(in []wire.Settlement, deadline time.Time) (wire.Report, error)
	// Replay makes the next Load or Turn a replay of the turn with the trace in its
	// report. A turn that draws other random values fails with the reason replay_diverged;
	// whether it makes the same calls is for the caller to see.
	Replay(trace []byte) error
	// Snapshot returns an image of the whole guest of at most so many bytes, or a
	// TooLargeError. The VM stays usable, also after that.
	Snapshot(most int) ([]byte, error)
	// Discard frees the VM. It is idempotent.
	Discard() error
}

// Engine makes VMs. At most one VM is alive at a time.
type Engine interface {
	// ID names the engine and its version. Images never cross engines.
	ID() string
	New(o Options) (VM, error)
	// Restore makes a VM of an image. An image that another build, engine or
	// format made, or that is damaged, is refused before it is mapped.
	Restore(image []byte, o Options) (VM, error)
}
