package guestrt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// groupPrefix starts the names of our control groups; the host's process id and
// a number follow.
const groupPrefix = "quoin-"

// groupLimit is what is written into one file of a control group.
type groupLimit struct{ file, value string }

// groupLimits are written into the control group of every worker. They stop
// what the process's own limits do not count: shared and kernel memory, and
// threads.
var groupLimits = []groupLimit{
	{"memory.max", strconv.FormatUint(sandbox.GroupMemory, 10)},
	{"pids.max", strconv.Itoa(sandbox.GroupThreads)},
}

// noSwap keeps guests off the disk, on systems that have the file.
const noSwap = "memory.swap.max"

// groups makes control groups of version 2 for workers, where the host has a
// subtree to make them in. It is safe for concurrent use.
type groups struct {
	base   string // the directory to make them in
	limits []groupLimit

	mu   sync.Mutex
	off  string // why no groups are made, or ""
	next int
}

// group is the control group of one worker.
type group struct{ dir *os.File }

// findGroups looks for a subtree the host may use: the control group it is in,
// or the one around it if the system's manager delegated that.
func findGroups() *groups {
	own, err := ownGroup("/proc/self/cgroup", "/proc/self/mountinfo")
	if err != nil {
		return &groups{off: err.Error()}
	}
	if parent := filepath.Dir(own); delegated(parent) {
		if g := groupsIn(parent); g.off == "" {
			return g
		}
	}
	return groupsIn(own)
}

// groupsIn makes a group below base to see whether that works, and removes what
// hosts that are gone have left there.
func groupsIn(base string) *groups {
	g := &groups{base: base, limits: groupLimits}
	if err := enable(base); err != nil {
		g.off = err.Error()
		return g
	}
	sweep(base)
	if probe := g.make(); probe != nil {
		g.turnOff(probe.remove())
	}
	return g
}

// ownGroup returns the directory of the version 2 group this process is in.
func ownGroup(cgroup, mountinfo string) (string, error) {
	b, err := os.ReadFile(cgroup)
	if err != nil {
		return "", err
	}
	var path string
	for line := range strings.Lines(string(b)) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path = p
		}
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/..") {
		return "", errors.New("the host is in no control group of version 2 that it can see")
	}
	b, err = os.ReadFile(mountinfo)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		const rootField, pointField = 3, 4
		if !strings.HasPrefix(after, "cgroup2 ") || len(fields) <= pointField {
			continue
		}
		if below, err := filepath.Rel(fields[rootField], path); err == nil && filepath.IsLocal(below) {
			return filepath.Join(fields[pointField], below), nil
		}
	}
	return "", errors.New("control groups of version 2 are not mounted")
}

// delegated reports whether the system's manager gave a group away for its
// members to divide. systemd marks such groups.
func delegated(dir string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var b [1]byte
		if n, err := unix.Getxattr(dir, name, b[:]); err == nil && n == 1 && b[0] == '1' {
			return true
		}
	}
	return false
}

// enable makes sure that groups below base have the controllers we need. Only
// in a delegated group does it turn them on itself.
func enable(base string) error {
	have, err := words(base, "cgroup.controllers")
	if err != nil {
		return err
	}
	on, err := words(base, "cgroup.subtree_control")
	if err != nil {
		return err
	}
	for _, c := range []string{"memory", "pids"} {
		switch {
		case slices.Contains(on, c):
		case !slices.Contains(have, c):
			return fmt.Errorf("%s has no %s controller", base, c)
		case !delegated(base):
			return fmt.Errorf("%s does not pass on its %s controller and is not delegated to the host", base, c)
		default:
			if err := os.WriteFile(filepath.Join(base, "cgroup.subtree_control"), []byte("+"+c), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func words(dir, file string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, file))
	return strings.Fields(string(b)), err
}

// sweep removes the groups of hosts that are gone. One with a process in it
// cannot be removed, and is not.
func sweep(base string) {
	left, err := filepath.Glob(filepath.Join(base, groupPrefix+"*"))
	if err != nil {
		return // base has a name that is no pattern
	}
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		n, err := strconv.Atoi(pid)
		if err == nil && n > 0 && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
			_ = unix.Rmdir(dir)
		}
	}
}

// make returns a new group with its limits set, or nil if no groups can be made.
func (g *groups) make() *group {
	g.mu.Lock()
	off := g.off != ""
	g.next++
	dir := filepath.Join(g.base, fmt.Sprintf("%s%d-%d", groupPrefix, os.Getpid(), g.next))
	g.mu.Unlock()
	if off {
		return nil
	}
	made, err := makeGroup(dir, g.limits)
	if err != nil {
		g.turnOff(err)
		return nil
	}
	return made
}

func makeGroup(dir string, limits []groupLimit) (*group, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, errors.Join(err, unix.Rmdir(dir))
	}
	g := &group{f}
	if err := g.limit(limits); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

func (g *group) limit(limits []groupLimit) error {
	for _, l := range limits {
		if err := g.write(l.file, l.value); err != nil {
			return err
		}
	}
	if err := g.write(noSwap, "0"); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// write sets a limit of the group. It never creates a file.
func (g *group) write(file, value string) error {
	f, err := os.OpenFile(filepath.Join(g.dir.Name(), file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// turnOff notes why no more groups are made; nil changes nothing.
func (g *groups) turnOff(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && g.off == "" {
		g.off = err.Error()
	}
}

// layer reports the control group of a worker.
func (g *groups) layer(own *group) wire.Layer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if own == nil {
		return wire.Layer{Name: sandbox.LayerCgroup, State: wire.LayerOff, Detail: g.off}
	}
	return wire.Layer{Name: sandbox.LayerCgroup, State: wire.LayerOn,
		Detail: fmt.Sprintf("%d MiB, %d threads", sandbox.GroupMemory>>20, sandbox.GroupThreads)}
}

// outOfMemory reports whether the kernel killed a process of the group because
// of its memory limit.
func (g *group) outOfMemory() bool {
	if g == nil {
		return false
	}
	events, err := words(g.dir.Name(), "memory.events")
	i := slices.Index(events, "oom_kill")
	return err == nil && i >= 0 && i+1 < len(events) && events[i+1] != "0"
}

// remove ends a group when its process is gone.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	return errors.Join(g.dir.Close(), os.NewSyscallError("rmdir", unix.Rmdir(g.dir.Name())))
}
