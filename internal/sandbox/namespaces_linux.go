package sandbox

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// unprivilegedUser is the user a worker runs as: for good when its host is root, inside
// its user namespace otherwise.
const unprivilegedUser = 65534

// newNamespaces are the namespaces a worker gets of its own.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWNS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Attributes returns how the parent must start a worker, with namespaces of its
// own or, where the system does not allow them, without. The worker dies with
// the thread that starts it, which must therefore live as long as the worker.
func Attributes(namespaces bool) *syscall.SysProcAttr {
	root := os.Geteuid() == 0
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if root || namespaces {
		// Only root may leave its groups; others keep the ones they have.
		a.Credential = &syscall.Credential{Uid: unprivilegedUser, Gid: unprivilegedUser, NoSetGroups: !root}
	}
	if namespaces {
		uid, gid := os.Geteuid(), os.Getegid()
		if root {
			uid, gid = unprivilegedUser, unprivilegedUser
		}
		a.Cloneflags = newNamespaces
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: unprivilegedUser, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: unprivilegedUser, HostID: gid, Size: 1}}
		a.GidMappingsEnableSetgroups = root
		// It empties its root with this and then gives it up.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	return a
}

// inNamespaces reports whether the calling process was started with namespaces
// of its own: it is the first process of its pid namespace.
func inNamespaces() bool { return os.Getpid() == 1 }

func checkNamespaces() (string, error) {
	if !inNamespaces() {
		return "", &offError{"the system does not let the host make namespaces"}
	}
	return "user, pid, net, mount, ipc, uts, cgroup", nil
}

// emptyRoot replaces the worker's file system by an empty, read-only one.
func emptyRoot() (string, error) {
	if !inNamespaces() {
		return "", &offError{"needs a mount namespace"}
	}
	const locked = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	const base = "/proc" // it is there: the worker has just read it
	steps := []struct {
		what string
		do   func() error
	}{
		{"detach", func() error { return unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"tmpfs", func() error {
			return unix.Mount("tmpfs", base, "tmpfs", locked, "size=4k,nr_inodes=2,mode=0555")
		}},
		{"enter", func() error { return unix.Chdir(base) }},
		{"pivot", func() error { return unix.PivotRoot(".", ".") }},
		{"unmount", func() error { return unix.Unmount(".", unix.MNT_DETACH) }},
		{"chdir", func() error { return unix.Chdir("/") }},
		{"read-only", func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|locked, "") }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return "", fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return "", nil
}
