//go:build !unix

package guestrt

import "os"

// Systems without signals do not have these; the values match no exit.
const (
	signalKill    = -2
	signalBadCall = -3
)

// exitStatus returns the exit code of a process.
func exitStatus(state *os.ProcessState) (code, signal int) {
	if state == nil {
		return -1, 0
	}
	return state.ExitCode(), 0
}
