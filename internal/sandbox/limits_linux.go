package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

const (
	// descriptors leaves room for the two the Go runtime's poller opens when it
	// first needs a timer.
	descriptors = 8
	// stack bounds the stack of the first thread, which grows by itself and does
	// not count for the data limit.
	stack = 8 << 20
)

// limit is a resource of the process and the most of it that it may have.
type limit struct {
	resource int
	value    uint64
}

func setLimits(p Policy, held uint64, heldErr, firstErr error) (string, error) {
	if err := errors.Join(heldErr, boundLibrary()); err != nil {
		return "", err
	}
	limits := []limit{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_MEMLOCK, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_NOFILE, descriptors},
		{unix.RLIMIT_STACK, stack},
		{unix.RLIMIT_DATA, dataLimit(held, p.MemoryBytes)},
		{unix.RLIMIT_AS, addressSpace},
	}
	detail := "threads are counted by the host"
	if threadsCountAlone() {
		limits = append(limits, limit{unix.RLIMIT_NPROC, MaxThreads})
		detail = fmt.Sprintf("%d threads", MaxThreads)
	}
	if firstErr != nil {
		detail += "; the kernel does not kill it first when memory runs out: " + firstErr.Error()
	}
	for _, l := range limits {
		if err := lockdown.LowerLimit(l.resource, l.value); err != nil {
			return "", fmt.Errorf("limit %d: %w", l.resource, err)
		}
	}
	return detail, nil
}

// threadsCountAlone reports whether the limit of processes counts the threads of
// this process only. Since Linux 5.14 it counts the processes of one user in one
// user namespace. Without a namespace of its own, or before that version, it
// counts every worker, and all else that the user runs.
func threadsCountAlone() bool {
	var name unix.Utsname
	if !inNamespaces() || unix.Uname(&name) != nil {
		return false
	}
	return lockdown.ProcessesPerNamespace(unix.ByteSliceToString(name.Release[:]))
}

// killFirst makes the kernel prefer this process when memory runs out.
func killFirst() error {
	const path = "/proc/self/oom_score_adj"
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("1000"))
	return os.NewSyscallError("write", err)
}
