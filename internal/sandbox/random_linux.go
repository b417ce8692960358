package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// Random fills b from the kernel's generator. Package crypto/rand would do the
// same, but starts a timer at its first use, and with it the Go runtime's poller.
// The poller's descriptors must not exist in a worker.
func Random(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Getrandom(b, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("getrandom", err)
		}
		b = b[n:]
	}
	return nil
}
