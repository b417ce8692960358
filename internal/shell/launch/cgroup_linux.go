package launch

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cgroupPrefix starts the name of the control group of a command. The number of its
// supervisor follows.
const cgroupPrefix = "quoin-shell-"

// cgroup is the control group of a command, which the kernel kills as a whole. The zero
// value stands for no group: the machine has no version 2, or this user may not make one.
type cgroup struct {
	dir  string
	file *os.File
}

// newCgroup makes a control group below the group of this process.
func newCgroup() cgroup {
	parent := ownCgroup()
	if parent == "" {
		return cgroup{}
	}
	removeAbandoned(parent)
	c := cgroup{dir: filepath.Join(parent, cgroupPrefix+strconv.Itoa(os.Getpid()))}
	if os.Mkdir(c.dir, 0o755) != nil {
		return cgroup{}
	}
	var err error
	if c.file, err = os.Open(c.dir); err != nil || !c.canKill() {
		c.remove()
		return cgroup{}
	}
	return c
}

// canKill reports whether the kernel can kill the group (Linux 5.14).
func (c cgroup) canKill() bool {
	_, err := os.Stat(filepath.Join(c.dir, "cgroup.kill"))
	return err == nil
}

// fd is the descriptor to start a process in the group by, or -1.
func (c cgroup) fd() int {
	if c.file == nil {
		return -1
	}
	return int(c.file.Fd())
}

// kill kills every process in the group and below. Who ends a tree looks afterwards
// whether something is left, so that a failure shows there.
func (c cgroup) kill() {
	if c.dir != "" {
		_ = os.WriteFile(filepath.Join(c.dir, "cgroup.kill"), []byte("1"), 0)
	}
}

// populated reports whether a process is in the group or below.
func (c cgroup) populated() bool {
	if c.dir == "" {
		return false
	}
	events, err := os.ReadFile(filepath.Join(c.dir, "cgroup.events"))
	return err == nil && bytes.Contains(events, []byte("populated 1"))
}

// remove removes the group with those that the command has made below it. One with a
// process in it stays, as the kernel wants it.
func (c cgroup) remove() {
	if c.dir == "" {
		return
	}
	closeAll(c.file)
	var dirs []string
	walk := func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	}
	_ = filepath.WalkDir(c.dir, walk) // walk returns no error
	for _, dir := range slices.Backward(dirs) {
		_ = unix.Rmdir(dir)
	}
}

// removeAbandoned removes the empty groups of supervisors that were killed.
func removeAbandoned(parent string) {
	groups, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*")) // fails only for a bad pattern
	for _, dir := range groups {
		pid := strings.TrimPrefix(filepath.Base(dir), cgroupPrefix)
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, fs.ErrNotExist) {
			cgroup{dir: dir}.remove()
		}
	}
}

// ownCgroup returns the directory of this process's group of version 2, or "".
func ownCgroup() string {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	defer mounts.Close()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(own)) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !ok {
			continue
		}
		for lines := bufio.NewScanner(mounts); lines.Scan(); {
			if dir := inMount(lines.Text(), path); dir != "" {
				return dir
			}
		}
	}
	return ""
}

// inMount returns where a line of mountinfo shows a group, or "". Directories with a
// space in their names are not looked for.
func inMount(line, path string) string {
	before, after, _ := strings.Cut(line, " - ")
	fields := strings.Fields(before)
	if !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
		return ""
	}
	below, err := filepath.Rel(fields[3], path) // the root of the mount
	if err != nil || !filepath.IsLocal(below) {
		return ""
	}
	return filepath.Join(fields[4], below)
}
