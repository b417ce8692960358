package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// Calls that only this architecture has. Calls of the x32 ABI share auditArch
// but have numbers of their own, which no rule names.
var (
	alwaysHere  = []uint32{unix.SYS_ARCH_PRCTL}
	probingHere = []uint32{unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_NEWFSTATAT}
)
