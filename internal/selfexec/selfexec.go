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

var available atomic.Bool

// Args returns the command line of a worker, its name included.
func Args() []string { return []string{name, argument} }

// IsWorker reports whether this process was started as a worker.
func IsWorker() bool {
	return len(os.Args) == 2 && os.Args[0] == name && os.Args[1] == argument
}

// Register notes that this executable becomes a worker when it is started with
// Args. guestserver.ServeIfWorker calls it.
func Register() { available.Store(true) }

// Available reports whether Register was called in this process.
func Available() bool { return available.Load() }
