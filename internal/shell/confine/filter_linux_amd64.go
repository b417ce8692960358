package confine

import (
	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

// refusedHere are calls that only this architecture has. The calls of the x32 ABI
// have numbers above newest.
var refusedHere = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL,
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_NFSSERVCTL, unix.SYS_KEXEC_FILE_LOAD,
}

// filterHere adds the rules for calls that only this architecture has.
func filterHere(f *lockdown.Filter, refuse uint32) {
	allow := lockdown.Answer(unix.SECCOMP_RET_ALLOW)
	for call, n := range map[uint32]uint32{unix.SYS_CHMOD: 1, unix.SYS_CREAT: 1, unix.SYS_MKNOD: 1} {
		f.On(call, append(lockdown.Without(refuse, n, setID), allow)...)
	}
	f.On(unix.SYS_OPEN, makes(refuse, 1, 2)...)
}
