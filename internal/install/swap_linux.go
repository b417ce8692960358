package install

import (
	"errors"

	"golang.org/x/sys/unix"
)

// swap exchanges two folders in one step, where the file system can.
func swap(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return swapSlowly(a, b)
	}
	return err
}
