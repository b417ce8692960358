package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// Calls that only this architecture has, or names so.
var (
	alwaysHere  []uint32
	probingHere = []uint32{unix.SYS_FSTATAT}
)
