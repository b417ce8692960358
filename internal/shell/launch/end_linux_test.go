package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

var helpers = map[string]func() int{
	"caller":    callAndWait,
	"killer":    callAndKill,
	"otherUser": beAnotherUser,
}

// callScript starts the script of the environment.
func callScript() execution.Process {
	l := &launcher{withoutCgroup: os.Getenv("WITHOUT_CGROUP") != ""}
	p, err := l.Start(context.Background(), shellScript(os.Getenv("SCRIPT")))
	if err != nil {
		panic(err)
	}
	return p
}

// callAndWait copies the output of the script, until it is killed.
func callAndWait() int {
	_, err := io.Copy(os.Stdout, callScript())
	fmt.Fprintln(os.Stderr, "the command has ended:", err)
	return 1
}

// callAndKill kills the script once it has written a line, and writes the error of Wait.
func callAndKill() int {
	p := callScript()
	if _, err := bufio.NewReader(io.TeeReader(p, os.Stdout)).ReadString('\n'); err != nil {
		panic(err)
	}
	p.Kill()
	_, err := p.Wait()
	fmt.Println(err)
	return 0
}

// beAnotherUser is a program of root's that its caller may not end, like sudo.
func beAnotherUser() int {
	if err := unix.Setresuid(0, 0, 0); err != nil {
		panic(err)
	}
	fmt.Println(os.Getpid())
	for {
		if err := unix.Pause(); !errors.Is(err, unix.EINTR) { // ends only when it is killed
			panic(err)
		}
	}
}

func shellScript(script string) execution.Command {
	return execution.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}
}

// hidden is a tree with processes that leave the group and the session, lose their
// parents and ignore signals.
const hidden = `trap '' TERM HUP INT
	sleep 1000 &
	setsid sh -c 'trap "" TERM HUP INT; sleep 1000 & sleep 1000' &
	(setsid sh -c 'sleep 1000 & echo ready >&2' &)
	sleep 1000`

// withAndWithoutCgroup runs a test on what this machine has, and without a control group.
func withAndWithoutCgroup(t *testing.T, test func(*testing.T, *launcher)) {
	t.Run("AsTheMachineIs", func(t *testing.T) { test(t, &launcher{}) })
	t.Run("WithoutCgroup", func(t *testing.T) { test(t, &launcher{withoutCgroup: true}) })
}

// lifeline makes a named pipe that a script opens for all its descendants. What it
// returns waits until none has it open.
func lifeline(t *testing.T, script string) (held string, gone func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(f) })
	return "exec 9>'" + path + "'\n" + script, func() {
		t.Helper()
		if _, err := io.Copy(io.Discard, f); err != nil {
			t.Error(err)
		}
	}
}

// TestACallerThatIsKilledLeavesNothing: a plugin that is killed cannot tell its
// supervisors, and nothing of its commands survives.
func TestACallerThatIsKilledLeavesNothing(t *testing.T) {
	withAndWithoutCgroup(t, func(t *testing.T, l *launcher) {
		script, gone := lifeline(t, hidden)
		caller := exec.Command("/proc/self/exe")
		caller.Env = []string{helperVariable + "=caller", "SCRIPT=" + script}
		if l.withoutCgroup {
			caller.Env = append(caller.Env, "WITHOUT_CGROUP=1")
		}
		out, err := caller.StdoutPipe()
		if err == nil {
			err = caller.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err := errors.Join(err, caller.Process.Kill()); err != nil {
			t.Fatal(line, err)
		}
		gone()
		if err := caller.Wait(); err == nil {
			t.Error("the caller was not killed")
		}
	})
}

// TestASupervisorThatIsKilled: the command may do this, as it is of the same user. What
// is left is ended: without a control group, what is in the session of the command.
func TestASupervisorThatIsKilled(t *testing.T) {
	withAndWithoutCgroup(t, func(t *testing.T, l *launcher) {
		tree := hidden
		c := newCgroup()
		c.remove()
		if l.withoutCgroup || c.dir == "" {
			tree = "trap '' TERM HUP INT; (sleep 1000 & echo ready >&2); sleep 1000"
		}
		script, gone := lifeline(t, tree)
		p := startProcess(t, l, script)
		if err := p.supervisor.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(p); err != nil || len(rest) > 0 {
			t.Errorf("read %q, %v", rest, err)
		}
		if exit, err := p.Wait(); err == nil {
			t.Errorf("ended with %+v", exit)
		}
		gone()
	})
}

// TestASupervisorThatIsStopped: the command may do this as well.
func TestASupervisorThatIsStopped(t *testing.T) {
	withAndWithoutCgroup(t, func(t *testing.T, l *launcher) {
		script, gone := lifeline(t, hidden)
		p := startProcess(t, l, script)
		if err := p.supervisor.Process.Signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		p.Kill()
		gone()
		if exit, err := p.Wait(); err != nil || exit.Signal != "SIGKILL" {
			t.Errorf("ended with %+v, %v", exit, err)
		}
	})
}

// TestAProcessOfAnotherUser: the supervisor may not end it, does not wait for it without
// end, and says so.
func TestAProcessOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a program that runs as another user")
	}
	// A directory that another user can read, unlike the directory of the tests.
	dir := t.TempDir()
	var where unix.Statfs_t
	if err := unix.Statfs(dir, &where); err != nil || where.Flags&unix.ST_NOSUID != 0 {
		t.Skipf("programs do not change their user in %s (%v)", dir, err)
	}
	plain, asRoot := filepath.Join(dir, "plain"), filepath.Join(dir, "as-root")
	content, err := os.ReadFile("/proc/self/exe")
	if err := errors.Join(err,
		os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755),
		os.WriteFile(plain, content, 0o755), os.WriteFile(asRoot, content, 0o755), os.Chmod(asRoot, 0o755|os.ModeSetuid),
	); err != nil {
		t.Fatal(err)
	}
	caller := exec.Command(plain)
	caller.Env = []string{helperVariable + "=killer", "SCRIPT=" + helperVariable + "=otherUser '" + asRoot + "' & wait"}
	caller.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := caller.Output()
	pid, message, _ := strings.Cut(string(out), "\n")
	if err != nil || !strings.Contains(message, "of another user, which cannot be ended, are left: ["+pid+"]") {
		t.Errorf("the helper wrote %q, %v", out, err)
	}
	if n, err := strconv.Atoi(pid); err == nil {
		if err := unix.Kill(n, unix.SIGKILL); err != nil {
			t.Errorf("end process %d: %v", n, err)
		}
	}
}

// startProcess starts a script and reads the line "ready".
func startProcess(t *testing.T, l *launcher, script string) *process {
	t.Helper()
	started, err := l.Start(t.Context(), shellScript(script))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := started.(*process)
	if !ok {
		t.Fatalf("a process is a %T", started)
	}
	t.Cleanup(func() {
		p.Kill()
		p.closeStreams()
	})
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(p, ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("read %q, %v", ready, err)
	}
	return p
}

// TestTheControlGroup: a command has one where the machine lets it, and takes it along.
func TestTheControlGroup(t *testing.T) {
	probe := newCgroup()
	probe.remove()
	p := startProcess(t, &launcher{}, `echo ready; cat /proc/self/cgroup
		group=$(sed -n 's/^0:://p' /proc/self/cgroup)
		test -d '`+probe.dir+`' || mkdir '`+filepath.Dir(probe.dir)+`'/"${group##*/}"/below; read -r a`)
	if (p.cgroup == "") != (probe.dir == "") {
		t.Fatalf("the command has the control group %q, this process may make %q", p.cgroup, probe.dir)
	}
	if _, err := io.WriteString(p, "x\n"); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	if p.cgroup != "" && !strings.Contains(string(out), filepath.Base(p.cgroup)+"\n") {
		t.Errorf("the command is not in %s:\n%s", p.cgroup, out)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.cgroup); err == nil && p.cgroup != "" {
		t.Errorf("%s is left", p.cgroup)
	}
}

// TestAbandonedControlGroups: the next command removes a group if its supervisor was
// killed with its caller, and keeps it if its supervisor lives.
func TestAbandonedControlGroups(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, fmt.Sprint(cgroupPrefix, os.Getpid())), 0o700),
		os.Mkdir(filepath.Join(dir, cgroupPrefix+"4194305"), 0o700), // more than a kernel gives
		os.Mkdir(filepath.Join(dir, "other"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	removeAbandoned(dir)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left are %q, %v", left, err)
	}
}

func TestWhereAMountShowsAGroup(t *testing.T) {
	for _, c := range []struct{ line, path, want string }{
		{"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/a/b", "/sys/fs/cgroup/a/b"},
		{"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw", "/", "/sys/fs/cgroup"},
		{"30 23 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/docker/1/x", "/sys/fs/cgroup/x"},
		{"30 23 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/docker/2", ""},
		{"30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", "/a", ""},
		{"30 23 0:26", "/a", ""},
		{"", "/a", ""},
	} {
		if got := inMount(c.line, c.path); got != c.want {
			t.Errorf("%q, %q: got %q, want %q", c.line, c.path, got, c.want)
		}
	}
}

func TestMainIsToBeCalled(t *testing.T) {
	mainCalled.Store(false)
	defer mainCalled.Store(true)
	if p, err := New().Start(t.Context(), shellScript("exit 0")); err == nil {
		p.Kill()
		t.Error("it has started")
	}
}
