package sandbox

import (
	"errors"
	"fmt"
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

// abiScope is the version that brought rules for scopes.
const abiScope = 6

// restrictPaths forbids everything Landlock can forbid on this kernel, without
// exception.
func restrictPaths() (string, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return "", &offError{"the kernel has no Landlock: " + errno.Error()}
	}
	attr := rulesFor(int(abi))
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return "", fmt.Errorf("make a ruleset: %w", errno)
	}
	err := everyThread(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	if err := errors.Join(err, unix.Close(int(fd))); err != nil {
		return "", err
	}
	return fmt.Sprintf(landlockDetail, abi), nil
}

func rulesFor(abi int) unix.LandlockRulesetAttr {
	var attr unix.LandlockRulesetAttr
	for version, files := range filesByABI {
		if version <= abi {
			attr.Handled_access_fs |= files
		}
	}
	if abi >= abiNet {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= abiScope {
		// Not the scope of signals: each thread gets a domain of its own, and
		// kernels before 6.14 then forbid threads of one process to signal each
		// other, which the Go runtime does.
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr
}
