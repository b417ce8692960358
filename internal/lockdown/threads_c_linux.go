//go:build quickjs_c

package lockdown

// #include "threads_c_linux.h"
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// ThreadList lists the threads of the process as the kernel knows them, also those of
// the C library. It goes on to do so when the process can no longer open files.
type ThreadList struct {
	dir int
	err error // why there is no list
}

// OpenThreads starts a list, to be closed. If that fails, Every does.
func OpenThreads() *ThreadList {
	const path = "/proc/self/task"
	l := &ThreadList{}
	if errno := C.quoin_threads_start(); errno != 0 {
		l.err = os.NewSyscallError("sigaction", unix.Errno(errno))
		return l
	}
	if l.dir, l.err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); l.err != nil {
		l.err = &os.PathError{Op: "open", Path: path, Err: l.err}
	}
	return l
}

// Close ends the list.
func (l *ThreadList) Close() {
	C.quoin_threads_end()
	if l.err == nil {
		unix.Close(l.dir) //nolint:errcheck // nothing was written
	}
}

// Every makes a system call on every thread of the process: first on this one, which
// decides whether there is anything to do, then on the others, one by one, by a
// signal. A thread has the state of the one that started it, so when every thread of
// two listings in a row has made the call, no thread is left that has not.
func (l *ThreadList) Every(call, a, b, c uintptr) error {
	if l.err != nil {
		return l.err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := ThisThread(call, a, b, c); err != nil {
		return err
	}
	made := map[int]bool{unix.Gettid(): true}
	for complete := 0; complete < 2; complete++ {
		threads, err := l.list()
		if err != nil {
			return err
		}
		for _, t := range threads {
			if made[t] {
				continue
			}
			if errno := C.quoin_thread_call(C.int(t), C.long(call), C.long(a), C.long(b), C.long(c)); errno != 0 {
				return fmt.Errorf("thread %d: %w", t, unix.Errno(errno))
			}
			made[t], complete = true, -1
		}
	}
	return nil
}

func (l *ThreadList) list() ([]int, error) {
	if _, err := unix.Seek(l.dir, 0, unix.SEEK_SET); err != nil {
		return nil, os.NewSyscallError("lseek", err)
	}
	var names []string
	var buf [4096]byte
	for {
		n, err := unix.ReadDirent(l.dir, buf[:])
		if err != nil {
			return nil, os.NewSyscallError("getdents64", err)
		}
		if n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
	threads := make([]int, 0, len(names))
	for _, name := range names {
		t, err := strconv.Atoi(name)
		if err != nil {
			return nil, fmt.Errorf("a thread is listed as %q", name)
		}
		threads = append(threads, t)
	}
	return threads, nil
}

// EveryThread makes a system call on every thread of the process, which must still be
// able to read /proc.
func EveryThread(call, a, b, c uintptr) error {
	l := OpenThreads()
	defer l.Close()
	return l.Every(call, a, b, c)
}

// ThreadsKnown reports whether EveryThread works.
func ThreadsKnown() bool { return true }
