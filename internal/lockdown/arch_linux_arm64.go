package lockdown

import "golang.org/x/sys/unix"

// Arch is the architecture that filters are written for.
const Arch = unix.AUDIT_ARCH_AARCH64
