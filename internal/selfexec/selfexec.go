// Package selfexec is the note a program leaves that its own executable can
// serve as a guest worker, so that package guestrt can start it again without
// importing the engine.
package selfexec

import (
	"os"
	"sync/atomic"
)

// argument is the command line by which only package guestrt starts a worker.
const (
	name     = "quoin-guest"
	argument = "--serve-guest-on-fd-3"
)

// engine is the id of the engine that this executable runs as a worker.
var engine atomic.Pointer[string]

// Args returns the command line of a worker, its name included.
func Args() []string { return []string{name, argument} }

// IsWorker reports whether this process was started as a worker.
func IsWorker() bool {
	return len(os.Args) == 2 && os.Args[0] == name && os.Args[1] == argument
}

// Register notes that this executable becomes a worker of the engine of that id when it
// is started with Args. guestserver.ServeIfWorker calls it.
func Register(engineID string) { engine.Store(&engineID) }

// EngineID returns the id of the engine that Register was called with in this process,
// or "".
func EngineID() string {
	if id := engine.Load(); id != nil {
		return *id
	}
	return ""
}
