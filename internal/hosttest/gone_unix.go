//go:build unix

package hosttest

import (
	"errors"
	"syscall"
)

// gone reports whether a file of /proc could not be read because its process has
// ended in the meantime.
func gone(err error) bool { return errors.Is(err, syscall.ESRCH) }
