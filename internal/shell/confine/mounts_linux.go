package confine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// plan is what the init builds the root from. Its lists are in the order in which they
// are worked off.
type plan struct {
	Links  []symlink `json:"links"`
	Mounts []mount   `json:"mounts"`
	Hide   []string  `json:"hide,omitempty"`

	// absent are denied paths that were not there when the plan was made, and are looked
	// for at each start.
	absent []string
}

type symlink struct{ Path, Target string }

// mount is a file or directory of the machine in the sandbox, at the same path.
type mount struct {
	Path  string
	File  bool
	Write bool
	// Device is for a file of /dev.
	Device bool
	// Pin is a directory on the way to a hidden path, in a writable directory: as a
	// mount of its own it cannot be renamed.
	Pin bool
}

// openTree makes a detached copy of the mounts at a path, with what the sandbox may do
// to them. owners is the user namespace by which files change their owner, or nil. No
// link is followed.
func (m mount) openTree(owners *os.File) (*os.File, error) {
	at, err := unix.Openat2(unix.AT_FDCWD, m.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: m.Path, Err: err}
	}
	defer unix.Close(at) //nolint:errcheck // it holds nothing
	flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH
	if !m.File {
		flags |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(at, "", uint(flags))
	if err != nil {
		return nil, &os.PathError{Op: "open_tree", Path: m.Path, Err: err}
	}
	tree := os.NewFile(uintptr(fd), m.Path)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID, Propagation: unix.MS_PRIVATE}
	if !m.Device {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if !m.Write && !m.Device {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if owners != nil {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(owners.Fd())
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return nil, errors.Join(&os.PathError{Op: "mount_setattr", Path: m.Path, Err: err}, tree.Close())
	}
	return tree, nil
}
