package lockdown

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filesByABI is what each Landlock version added to the file accesses it can
// forbid; the index is the version.
var filesByABI = [...]uint64{
	1: unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM,
	2: unix.LANDLOCK_ACCESS_FS_REFER,
	3: unix.LANDLOCK_ACCESS_FS_TRUNCATE,
	5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
}

// landlockNet is the Landlock version that brought rules for TCP.
const landlockNet = 4

// landlockScope is the version that brought rules for scopes.
const landlockScope = 6

// LandlockABI returns the kernel's version of Landlock. The error says why there is
// no Landlock.
func LandlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("the kernel has no Landlock: %w", errno)
	}
	return int(abi), nil
}

// LandlockRules are everything that a version of Landlock can forbid.
func LandlockRules(abi int) unix.LandlockRulesetAttr {
	var attr unix.LandlockRulesetAttr
	for version, files := range filesByABI {
		if version <= abi {
			attr.Handled_access_fs |= files
		}
	}
	if abi >= landlockNet {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= landlockScope {
		// Not the scope of signals: each thread gets a domain of its own, and
		// kernels before 6.14 then forbid threads of one process to signal each
		// other, which the Go runtime does.
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr
}

// LandlockPath is an exception from what is forbidden: accesses to files at and below
// a path.
type LandlockPath struct {
	Path   string
	Access uint64
}

// Restrict forbids what attr says, but for the exceptions.
func Restrict(threads Threads, attr unix.LandlockRulesetAttr, exceptions ...LandlockPath) error {
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make a ruleset: %w", errno)
	}
	defer unix.Close(int(set)) //nolint:errcheck // it holds nothing
	for _, e := range exceptions {
		if err := e.addTo(int(set), attr.Handled_access_fs); err != nil {
			return err
		}
	}
	return threads(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0)
}

func (e LandlockPath) addTo(set int, handled uint64) error {
	fd, err := unix.Open(e.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: e.Path, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // it holds nothing
	attr := unix.LandlockPathBeneathAttr{Allowed_access: e.Access & handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return &os.PathError{Op: "allow", Path: e.Path, Err: errno}
	}
	return nil
}
