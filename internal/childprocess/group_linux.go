package childprocess

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// prepare makes the process the leader of a group of its own that dies with
// the thread that starts it, and keeps descriptors of the host out of it: those
// the host inherited without the close-on-exec flag, say from a shell.
func prepare(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return closeOnExecAll()
	}
	return err
}

// closeOnExecAll is CLOSE_RANGE_CLOEXEC for kernels before 5.11.
func closeOnExecAll() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd := 0
		for _, r := range e.Name() {
			fd = fd*10 + int(r-'0')
		}
		if fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// waitExit waits until the process has ended, without reaping it.
func waitExit(p *os.Process) {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return // any other error: let the reaping wait tell
		}
	}
}

// killGroup kills every process of the group. It fails only if the group is empty.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// terminateGroup asks every process of the group to end. It fails only if the group
// is empty.
func terminateGroup(pid int) { _ = unix.Kill(-pid, unix.SIGTERM) }

// IsTextBusy reports whether a start failed because the file is open for
// writing somewhere.
func IsTextBusy(err error) bool { return errors.Is(err, unix.ETXTBSY) }
