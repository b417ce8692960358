//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"syscall"
)

// serverUser owns nothing on any system. PostgreSQL refuses to run as root.
const serverUser = 65534

// unprivileged makes a command of root one of the server's user, and keeps the signals
// of a terminal from it: the process that started it decides when it ends.
func unprivileged(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: serverUser, Gid: serverUser}
	}
}

// giveAway makes a file the server user's if root made it.
func giveAway(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, serverUser, serverUser)
}
