package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	home     = "/home/user"
	userName = "user"
)

// base is where the root is built. It is there on every system, and what is below is
// not needed: the trees are open by then.
const base = "/proc"

// What hidden paths show.
const (
	hiddenFile = "/run/hidden/file"
	hiddenDir  = "/run/hidden/dir"
)

// temporary bounds each file system in memory.
const temporary = "size=512m,nr_inodes=256k,mode=0700"

// makeRoot replaces the file system of the process by one of its own, made of trees
// that the launcher has opened, or, without them, of those that the process can open.
func makeRoot(p plan, trees []*os.File) (proc, err error) {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("detach: %w", err)
	}
	if trees == nil {
		for _, m := range p.Mounts {
			tree, err := m.openTree(nil)
			if err != nil {
				return nil, err
			}
			trees = append(trees, tree)
		}
	}
	const locked = unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("tmpfs", base, "tmpfs", locked, "size=1m,mode=0755"); err != nil {
		return nil, fmt.Errorf("tmpfs: %w", err)
	}
	root, err := os.OpenFile(base, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	steps := []func() error{
		func() (err error) { proc, err = makeSkeleton(p); return err },
		func() error { return attach(root, p.Mounts, trees) },
		func() error { return hide(root, p) },
		func() error { return unix.Fchdir(int(root.Fd())) },
		func() error { return unix.PivotRoot(".", ".") },
		func() error { return unix.Unmount(".", unix.MNT_DETACH) },
		func() error { return unix.Chdir("/") },
		func() error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		},
		root.Close,
	}
	for i, do := range steps {
		if err := do(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return proc, nil
}

// makeSkeleton makes what is in the root without being a tree of the machine. It can do
// without a /proc, which a system may forbid that hides parts of its own.
func makeSkeleton(p plan) (proc, err error) {
	for _, dir := range []string{"/proc", "/dev/pts", "/dev/shm", "/tmp", "/etc", "/var", home, hiddenDir} {
		if err := os.MkdirAll(base+dir, 0o755); err != nil {
			return nil, err
		}
	}
	const locked = unix.MS_NOSUID | unix.MS_NODEV
	mounts := []struct {
		kind, path, data string
		flags            uintptr
	}{
		{"devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=0620", unix.MS_NOSUID | unix.MS_NOEXEC},
		{"tmpfs", "/dev/shm", temporary, locked},
		{"tmpfs", "/tmp", temporary, locked},
		{"tmpfs", home, temporary, locked},
	}
	for _, m := range mounts {
		if err := unix.Mount(m.kind, base+m.path, m.kind, m.flags, m.data); err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.path, err)
		}
	}
	proc = unix.Mount("proc", base+"/proc", "proc", locked|unix.MS_NOEXEC|unix.MS_RDONLY, "")
	links := append([]symlink{
		{"/dev/ptmx", "pts/ptmx"}, {"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"},
		{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"}, {"/etc/mtab", "/proc/self/mounts"},
		{"/var/tmp", "/tmp"},
	}, p.Links...)
	for _, l := range links {
		if err := os.MkdirAll(base+filepath.Dir(l.Path), 0o755); err != nil {
			return nil, err
		}
		if err := os.Symlink(l.Target, base+l.Path); err != nil {
			return nil, err
		}
	}
	return proc, writeFiles()
}

// writeFiles writes the files of the root that are not the machine's.
func writeFiles() error {
	files := map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\n%s:x:%d:%d::%s:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			userName, sandboxUser, sandboxUser, home),
		"/etc/group":         fmt.Sprintf("root:x:0:\n%s:x:%d:\nnogroup:x:65534:\n", userName, sandboxUser),
		"/etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
		"/etc/hostname":      "sandbox\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n",
		hiddenFile:           "",
	}
	for path, text := range files {
		if err := os.WriteFile(base+path, []byte(text), 0o444); err != nil {
			return err
		}
	}
	return errors.Join(os.Chmod(base+hiddenFile, 0), os.Chmod(base+hiddenDir, 0), unix.Sethostname([]byte("sandbox")))
}

// attach puts each tree at its path below the root.
func attach(root *os.File, mounts []mount, trees []*os.File) error {
	if len(trees) != len(mounts) {
		return fmt.Errorf("%d trees for %d mounts", len(trees), len(mounts))
	}
	for i, m := range mounts {
		if err := attachOne(root, m.Path, m.File, trees[i]); err != nil {
			return &os.PathError{Op: "attach", Path: m.Path, Err: err}
		}
	}
	return nil
}

func attachOne(root *os.File, path string, file bool, tree *os.File) error {
	at, err := openBelow(root, path)
	if errors.Is(err, unix.ENOENT) {
		if err := makePoint(path, file); err != nil {
			return err
		}
		at, err = openBelow(root, path)
	}
	if err != nil {
		return err
	}
	defer unix.Close(at) //nolint:errcheck // it holds nothing
	err = unix.MoveMount(int(tree.Fd()), "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	return errors.Join(err, tree.Close())
}

// openBelow opens a path of the new root. A command of before may have changed what
// lies in writable directories: no link is followed.
func openBelow(root *os.File, path string) (int, error) {
	return unix.Openat2(int(root.Fd()), strings.TrimPrefix(path, "/"), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS})
}

// makePoint makes the file or directory that a tree is put on. It is made in the root
// itself: what the machine has is there already.
func makePoint(path string, file bool) error {
	if !file {
		return os.MkdirAll(base+path, 0o755)
	}
	if err := os.MkdirAll(base+filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(base+path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o444)
	if err != nil {
		return err
	}
	return f.Close()
}

// hide covers paths by an empty file or directory that cannot be opened.
func hide(root *os.File, p plan) error {
	for _, path := range p.Hide {
		err := hideOne(root, path)
		// In what it may not write, a command cannot reach what the init cannot. Elsewhere
		// one of before may have closed the directory, for the next to open it again.
		if in := p.mountOf(path); errors.Is(err, unix.EACCES) && in != nil && !in.Write {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "hide", Path: path, Err: err}
		}
	}
	return nil
}

func hideOne(root *os.File, path string) error {
	at, err := openBelow(root, path)
	if err != nil {
		return err
	}
	defer unix.Close(at) //nolint:errcheck // it holds nothing
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	cover := mount{Path: base + hiddenFile, File: true}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		cover = mount{Path: base + hiddenDir}
	}
	tree, err := cover.openTree(nil)
	if err != nil {
		return err
	}
	err = unix.MoveMount(int(tree.Fd()), "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	return errors.Join(err, tree.Close())
}
