//go:build unix

package trajectory

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// share takes the lock that everybody who writes a file holds from open to close. The
// system drops it when its holder dies.
func share(f *os.File) error { return flock(f, unix.LOCK_SH) }

// alone runs do if nobody else writes the file, and reports whether it did.
func alone(f *os.File, do func() error) (bool, error) {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, share(f) // which a failed exchange of locks has dropped
	}
	if err != nil {
		return false, err
	}
	return true, errors.Join(do(), share(f))
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
