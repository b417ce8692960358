// Package selfexec is the note a program leaves that its own executable can
// serve as a guest worker, so that package guestrt can start it again without
// importing the engine. It is also what the two agree on about the start: the command
// line and the connection.
package selfexec

import (
	"os"
	"sync/atomic"
)

// The command lines by which only package guestrt starts a worker. The second one is of
// hosts and workers that speak a protocol before wire.FirstOnPipes.
const (
	name     = "quoin-guest"
	onPipes  = "--serve-guest-on-fds-3-and-4"
	onSocket = "--serve-guest-on-fd-3"
)

// engine is the id of the engine that this executable runs as a worker.
var engine atomic.Pointer[string]

// Args returns the command line of a worker, its name included.
func Args() []string { return []string{name, onPipes} }

// SocketArgs returns the command line of a worker that gets a socket.
func SocketArgs() []string { return []string{name, onSocket} }

// IsWorker reports whether this process was started as a worker.
func IsWorker() bool { return startedWith(onPipes) || OnSocket() }

// OnSocket reports whether this process was started as a worker with SocketArgs.
func OnSocket() bool { return startedWith(onSocket) }

func startedWith(argument string) bool {
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
