package sandbox

import (
	"os"
	"syscall"
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
