package hosttest

import (
	"errors"

	"golang.org/x/sys/unix"
)

// AwaitExit returns once a process has ended. A zombie has ended.
func AwaitExit(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		if _, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
