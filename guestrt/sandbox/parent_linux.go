package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is the user a worker runs as when its host is root.
const nobody = 65534

// Attributes returns how the parent must start a worker. The worker dies with
// the thread that starts it, which must therefore live as long as the worker.
func Attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}
	}
	return a
}

// LimitMemory lets the sealed worker pid use DataLimit(memoryBytes) bytes of
// private memory, or what its seal allows if that is less.
func LimitMemory(pid int, memoryBytes uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, nil, &now); err != nil {
		return os.NewSyscallError("prlimit", err)
	}
	want := unix.Rlimit{Cur: min(DataLimit(memoryBytes), now.Max), Max: now.Max}
	if want == now {
		return nil
	}
	return os.NewSyscallError("prlimit", unix.Prlimit(pid, unix.RLIMIT_DATA, &want, nil))
}
