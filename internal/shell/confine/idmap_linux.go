package confine

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// holderName is the name under which the executable serves as the process of a user
// namespace until the launcher has opened it.
const holderName = "quoin-shell-owners"

// The user and group of a command: to the machine if the plugin is root, and in its
// namespace.
const (
	machineUser = 65534
	sandboxUser = 1000
)

// owners returns the user namespace of a mount with files that belong to one user
// and group on the disk, and to machineUser for who looks through the mount.
func owners(uid, gid uint32) (*os.File, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{holderName}
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: int(uid), HostID: machineUser, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: int(gid), HostID: machineUser, Size: 1}},
	}
	life, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("make a user namespace: %w", err)
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	_ = life.Close() // its end ends the holder
	_ = cmd.Wait()   // whatever the holder says
	return ns, err
}

// holdOwners is the holder.
func holdOwners() {
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}
