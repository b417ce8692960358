package lockdown

import "golang.org/x/sys/unix"

// Arch is the architecture that filters are written for. Calls of the x32 ABI share it
// but have numbers of their own.
const Arch = unix.AUDIT_ARCH_X86_64
