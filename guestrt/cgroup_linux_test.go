package guestrt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// tree makes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOwnGroup(t *testing.T) {
	const mounted = "25 1 0:22 / /proc rw - proc proc rw\n30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ cgroup, mounts, want string }{
		{"0::/system.slice/quoin.service/host\n", mounted, "/sys/fs/cgroup/system.slice/quoin.service/host"},
		{"4:memory:/x\n0::/\n", mounted, "/sys/fs/cgroup"},
		{"0::/a/b\n", "30 1 0:26 /a /mnt rw - cgroup2 x rw\n", "/mnt/b"},
		{"0::/b\n", "30 1 0:26 /a /mnt rw - cgroup2 x rw\n", ""},
		{"0::/../other\n", mounted, ""},
		{"4:memory:/x\n", mounted, ""},
		{"0::/\n", "25 1 0:22 / /proc rw - proc proc rw\n", ""},
	} {
		dir := tree(t, map[string]string{"cgroup": c.cgroup, "mountinfo": c.mounts})
		got, err := ownGroup(filepath.Join(dir, "cgroup"), filepath.Join(dir, "mountinfo"))
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q in %q: %q, %v", c.cgroup, c.mounts, got, err)
		}
	}
}

func TestWhyThereAreNoControlGroups(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"not a group":   {nil, "cgroup.controllers"},
		"no controller": {map[string]string{"cgroup.controllers": "cpu pids\n", "cgroup.subtree_control": ""}, "no memory controller"},
		"not passed on": {map[string]string{"cgroup.controllers": "memory pids", "cgroup.subtree_control": "memory"}, "does not pass on its pids controller"},
		"no limits":     {map[string]string{"cgroup.controllers": "memory pids", "cgroup.subtree_control": "memory pids"}, "memory.max"},
	} {
		t.Run(name, func(t *testing.T) {
			base := tree(t, c.files)
			g := groupsIn(base)
			if made := g.make(); made != nil {
				t.Errorf("made %v", made.dir.Name())
			}
			if l := g.layer(nil); l.State != wire.LayerOff || !strings.Contains(l.Detail, c.want) {
				t.Errorf("%+v, want %q", l, c.want)
			}
			if left, err := filepath.Glob(filepath.Join(base, groupPrefix+"*")); err != nil || left != nil {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

func TestADelegatedGroupIsDivided(t *testing.T) {
	base := tree(t, map[string]string{"cgroup.controllers": "memory pids", "cgroup.subtree_control": ""})
	if delegated(base) {
		t.Fatal("an ordinary directory is delegated")
	}
	if err := unix.Setxattr(base, "user.delegate", []byte("1"), 0); errors.Is(err, unix.ENOTSUP) {
		// Without them nothing here can say that a subtree was delegated.
		t.Skip("the temporary directory has no extended attributes")
	} else if err != nil {
		t.Fatal(err)
	}
	if err := enable(base); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(base, "cgroup.subtree_control"))
	if err != nil || string(b) != "+pids" { // a real one would add the words up
		t.Errorf("written %q, %v", b, err)
	}
}

func TestLimitsOfAControlGroup(t *testing.T) {
	dir, err := os.Open(tree(t, map[string]string{
		"memory.max": "max", "pids.max": "max", "memory.swap.max": "max", "memory.events": "low 0\nmax 3\noom 1\noom_kill 0\n"}))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	g := &group{dir}
	if err := g.limit(groupLimits); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"memory.max": strconv.Itoa(sandbox.GroupMemory), "pids.max": strconv.Itoa(sandbox.GroupThreads), "memory.swap.max": "0"} {
		b, err := os.ReadFile(filepath.Join(dir.Name(), file))
		if got := string(b[:min(len(b), len(want))]); err != nil || got != want {
			t.Errorf("%s holds %q, %v; want %q", file, b, err, want)
		}
	}
	if g.outOfMemory() || (*group)(nil).outOfMemory() {
		t.Error("no process was killed")
	}
	if err := os.WriteFile(filepath.Join(dir.Name(), "memory.events"), []byte("oom 1\noom_kill 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !g.outOfMemory() {
		t.Error("a kill is not noticed")
	}
}

func TestGroupsOfHostsThatAreGoneAreRemoved(t *testing.T) {
	base := t.TempDir()
	const unusedID = 1<<22 + 1 // above every process id
	own := fmt.Sprintf("%s%d-1", groupPrefix, os.Getpid())
	for _, name := range []string{fmt.Sprintf("%s%d-7", groupPrefix, unusedID), own, groupPrefix + "x", "other"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sweep(base)
	var left []string
	entries, err := os.ReadDir(base)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{"other", own, groupPrefix + "x"}
	slices.Sort(want)
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("left %v, %v; want %v", left, err, want)
	}
}

// startWith starts one process with the given control groups, by a version of the protocol.
func startWith(t *testing.T, g *groups, protocol uint32) *process {
	t.Helper()
	c := Config{GuestPath: guestPath}.filled()
	b, err := findBinary(c)
	if err != nil {
		t.Fatal(err)
	}
	s := newSpawner()
	p, err := startProcess(context.Background(), s, b, &launchConfig{groups: g, protocol: protocol, socket: protocol < wire.FirstOnPipes}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill(aborted("the test is over"))
		<-p.gone
		s.stop()
		b.file.Close()
	})
	return p
}

// TestAWorkerStartsInItsControlGroup uses a real group, without limits where
// the system has no controllers for them.
func TestAWorkerStartsInItsControlGroup(t *testing.T) {
	own, err := ownGroup("/proc/self/cgroup", "/proc/self/mountinfo")
	if err != nil {
		// The system has no control groups of version 2.
		t.Skip(err)
	}
	g := &groups{base: own}
	probe := g.make()
	if probe == nil {
		// This user may not make a group.
		t.Skip(g.off)
	}
	if err := probe.remove(); err != nil {
		t.Fatal(err)
	}
	p := startWith(t, g, wire.Version)
	if p.group == nil {
		// Groups can be made here, but not entered.
		t.Skip(g.off)
	}
	dir := p.group.dir.Name()
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil || strings.TrimSpace(string(b)) != strconv.Itoa(p.os.Pid) {
		t.Errorf("the group holds %q, %v", b, err)
	}
	if l := p.ready.Layers[len(p.ready.Layers)-1]; l.Name != sandbox.LayerCgroup || l.State != wire.LayerOn {
		t.Errorf("%+v", l)
	}
	p.kill(aborted("the test is over"))
	<-p.gone
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is left: %v", err)
	}
}

func TestAControlGroupThatCannotBeEnteredIsDoneWithout(t *testing.T) {
	base := t.TempDir()
	g := &groups{base: base}
	p := startWith(t, g, wire.Version)
	if l := p.ready.Layers[len(p.ready.Layers)-1]; p.group != nil || l.State != wire.LayerOff || l.Detail == "" {
		t.Errorf("%+v", l)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if g.make() != nil {
		t.Error("it is tried again")
	}
}
