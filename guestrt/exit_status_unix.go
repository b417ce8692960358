//go:build unix

package guestrt

import (
	"os"
	"syscall"
)

const (
	signalKill    = int(syscall.SIGKILL)
	signalBadCall = int(syscall.SIGSYS)
)

// exitStatus returns the exit code, or the signal a process died of.
func exitStatus(state *os.ProcessState) (code, signal int) {
	if state == nil {
		return -1, 0
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -1, int(ws.Signal())
	}
	return state.ExitCode(), 0
}
