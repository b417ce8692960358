package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

// probingHere are calls that only this architecture names so.
var probingHere = []uint32{unix.SYS_FSTATAT}

// onlyHere adds the rules that only this architecture needs.
func onlyHere(*lockdown.Filter, uint32) {}
