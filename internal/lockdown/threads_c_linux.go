//go:build quickjs_c

package lockdown

// #include "threads_c_linux.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ThreadList lists the threads of the process as the kernel knows them, also the
// threads of the C library. It still does so when the process can no longer open
// files.
type ThreadList struct {
	dir, stat int
	err       error // why there is no list
}

// OpenThreads starts a list, to be closed. If that fails, Every does.
func OpenThreads() *ThreadList {
	l := &ThreadList{dir: -1, stat: -1}
	if errno := C.quoin_threads_start(); errno != 0 {
		l.err = os.NewSyscallError("sigaction", unix.Errno(errno))
		return l
	}
	if l.dir, l.err = open("/proc/self/task"); l.err == nil {
		l.stat, l.err = open("/proc/self/stat")
	}
	return l
}

func open(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// Close ends the list.
func (l *ThreadList) Close() {
	C.quoin_threads_end()
	for _, fd := range []int{l.dir, l.stat} {
		if fd >= 0 {
			unix.Close(fd) //nolint:errcheck // nothing was written
		}
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

// list returns the threads by the ids that this process has for them. A process with a
// pid namespace of its own reads a /proc that has other ids. While threads come and go, a
// list may miss some that stay, this one too: then it is read again.
func (l *ThreadList) list() (threads []int, err error) {
	for range 100 {
		if os.Getpid() == 1 {
			threads, err = l.scan()
		} else {
			threads, err = l.read()
		}
		if err != nil || slices.Contains(threads, unix.Gettid()) {
			return threads, err
		}
	}
	return nil, errors.New("the list of the threads of this process is that of another")
}

// read takes the ids from /proc.
func (l *ThreadList) read() ([]int, error) {
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

// scan takes the number of threads from /proc and tries ids: the threads have the ids
// of the namespace to themselves, given out in ascending order, and the process is
// young.
func (l *ThreadList) scan() ([]int, error) {
	const highest, tries = 1 << 12, 100
	for range tries {
		n, err := l.count()
		if err != nil {
			return nil, err
		}
		var threads []int
		for t := 1; t <= highest && len(threads) < n; t++ {
			if unix.Tgkill(os.Getpid(), t, 0) == nil {
				threads = append(threads, t)
			}
		}
		if len(threads) == n {
			return threads, nil
		} // or one has ended
	}
	return nil, errors.New("threads end faster than they can be listed")
}

// count returns how many threads there are.
func (l *ThreadList) count() (int, error) {
	var buf [1024]byte
	n, err := unix.Pread(l.stat, buf[:], 0)
	if err != nil {
		return 0, os.NewSyscallError("pread", err)
	}
	text := string(buf[:n])
	const field = 17 // after the name, which is in parentheses
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= field {
		return 0, fmt.Errorf("stat has %d fields after the name", len(fields))
	}
	return strconv.Atoi(fields[field])
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
