//go:build unix

package trajectory

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockShared takes the lock that every writer of a file holds from open to close. The
// system drops the lock when its holder dies.
func lockShared(f *os.File) error { return flock(f, unix.LOCK_SH) }

// withExclusiveLock runs do unless another process writes the file, and reports whether it ran.
func withExclusiveLock(f *os.File, do func() error) (bool, error) {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, lockShared(f) // which a failed exchange of locks has dropped
	}
	if err != nil {
		return false, err
	}
	return true, errors.Join(do(), lockShared(f))
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
