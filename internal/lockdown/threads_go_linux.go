//go:build !quickjs_c

package lockdown

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// ThreadList is empty: the Go runtime knows the threads of the process, or says that
// it does not.
type ThreadList struct{}

// OpenThreads returns a list that needs nothing.
func OpenThreads() *ThreadList { return &ThreadList{} }

// Every makes a system call on every thread of the process.
func (*ThreadList) Every(call, a, b, c uintptr) error { return EveryThread(call, a, b, c) }

// Close does nothing.
func (*ThreadList) Close() {}

// EveryThread makes a system call on every thread of the process.
func EveryThread(call, a, b, c uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(call, a, b, c, 0, 0, 0)
	switch errno {
	case 0:
		return nil
	case syscall.ENOTSUP:
		return ErrCgo
	default:
		return errno
	}
}

// ThreadsKnown reports whether EveryThread works.
func ThreadsKnown() bool {
	return !errors.Is(EveryThread(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE, 0, 0), ErrCgo)
}
