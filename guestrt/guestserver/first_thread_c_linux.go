//go:build quickjs_c

package guestserver

import (
	"runtime"

	"github.com/quoinhq/quoin/internal/selfexec"
)

// A worker runs the engine on the first thread of the process. Its stack is as large
// as a C program's stack and does not count for the data limit; the seal makes the
// stacks of later threads small.
func init() {
	if selfexec.IsWorker() {
		runtime.LockOSThread()
	}
}
