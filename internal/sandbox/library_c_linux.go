//go:build quickjs_c

package sandbox

// #include "library_c_linux.h"
import "C"

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

// threadStack is the stack of a thread that is started after the seal. It counts for
// the data limit, touched or not. The engine runs on the first thread, and the first
// thread's stack does not count; what runs on the others is the Go runtime.
const threadStack = 256 << 10

// libraryThread are exactly the flags the C library makes a thread with. It tries
// clone3 first, and does without it: a filter cannot see the flags of clone3.
const libraryThread = threadFlags | unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID

func init() {
	// The C library makes every thread, the threads of the Go runtime too.
	threads = []uint32{libraryThread}
	// The stack of a thread. The flag says what for and does nothing.
	mappings = append(mappings, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_STACK)
}

// boundLibrary bounds what the C library takes, and makes sure of the stack of the
// first thread, which the engine relies on.
func boundLibrary() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &now); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	if now.Max < stack {
		return fmt.Errorf("the host limits stacks to %d bytes, the engine needs %d: raise the hard limit (ulimit -Hs)", now.Max, stack)
	}
	if errno := C.quoin_thread_stacks(threadStack); errno != 0 {
		return os.NewSyscallError("pthread_setattr_default_np", unix.Errno(errno))
	}
	return nil
}

// forLibrary adds the rules that only the C library needs: its memory that is neither
// a mapping nor a stack. It counts for the data limit.
func forLibrary(p *lockdown.Filter) {
	p.Allow(unix.SYS_BRK)
}
