//go:build unix

package trajectory

import (
	"os"

	"golang.org/x/sys/unix"
)

// locked runs do while it holds a lock on the file: one shared among those who
// append, or one that keeps them all out. The system drops it when its holder dies.
func locked(f *os.File, exclusive bool, do func() error) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	err := do()
	if e := unix.Flock(int(f.Fd()), unix.LOCK_UN); err == nil {
		err = e
	}
	return err
}
