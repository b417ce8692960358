package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

// archSetFS sets a thread's pointer to its own data, which the Go runtime does
// once for each.
const archSetFS = 0x1002

// probingHere are calls that only this architecture has. Calls of the x32 ABI
// have numbers of their own, which no rule names.
var probingHere = []uint32{unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_NEWFSTATAT}

// onlyHere adds the rules that only this architecture needs.
func onlyHere(p *lockdown.Filter, otherwise uint32) {
	p.AllowArg(otherwise, unix.SYS_ARCH_PRCTL, 0, archSetFS)
}
