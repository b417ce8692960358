//go:build quickjs_c

package sandbox

import "golang.org/x/sys/unix"

// What the C library needs is let through exactly as it does it. Package
// initialisation runs in the order of file names, so this comes before the probes are
// collected.
func init() {
	thread := func(flags uintptr) func() error {
		return func() error { return raw(unix.SYS_CLONE, flags) }
	}
	forbidden["a thread as the Go runtime makes it"] = deed{thread(threadFlags), killed}
	forbidden["a process that shares memory"] = deed{thread(unix.CLONE_VM | unix.CLONE_VFORK | uintptr(unix.SIGCHLD)), killed}
	forbidden["a thread in a namespace"] = deed{thread(libraryThread | unix.CLONE_NEWUSER), killed}
	forbidden["a thread that is traced"] = deed{thread(libraryThread | unix.CLONE_PTRACE), killed}
	forbidden["memory without reserve"] = deed{mapping(unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE), killed}
	forbidden["an executable stack"] = deed{mapping(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_STACK), killed}
	harmless["memory of the C library"] = func() error { return raw(unix.SYS_BRK, 0) }
}
