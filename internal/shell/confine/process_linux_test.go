package confine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/execution"
)

func TestHowACommandEnds(t *testing.T) {
	l, work := launcher(t, nil)
	for line, want := range map[string]struct {
		out  string
		exit execution.Exit
	}{
		"exit 0":                     {"", execution.Exit{}},
		"exit 255":                   {"", execution.Exit{Code: 255}},
		"kill -9 $$":                 {"", execution.Exit{Code: -1, Signal: "SIGKILL"}},
		"kill -15 $$":                {"", execution.Exit{Code: -1, Signal: "SIGTERM"}},
		"echo a; echo b >&2; echo c": {"a\nb\nc\n", execution.Exit{}},
		"cat":                        {"", execution.Exit{}}, // the input has ended
		"(sleep 3600 &) ; echo done": {"done\n", execution.Exit{}},
		"(setsid sh -c 'trap \"\" TERM; sleep 3600' &); echo done":                                                       {"done\n", execution.Exit{}},
		"for s in 1 2 3 4 5 6 8 9 10 11 12 13 14 15 17 19 20 23 24 25 27 31; do kill -$s 1; done; sleep 0.1; echo alive": {"alive\n", execution.Exit{}},
	} {
		t.Run(line, func(t *testing.T) {
			if out, exit := run(t, l, work, line); out != want.out || exit != want.exit {
				t.Errorf("%q, %+v; want %q, %+v", out, exit, want.out, want.exit)
			}
		})
	}
}

// TestHarmlessCommandsWork does what builds and scripts do.
func TestHarmlessCommandsWork(t *testing.T) {
	l, work := launcher(t, nil)
	for _, line := range []string{
		"echo x | sort | uniq | wc -l",
		"mkdir -p a/b && touch a/b/c && mv a/b/c a/d && cp a/d a/e && ln -s d a/f && ln a/d a/g && rm -r a",
		"mkfifo p && (echo x > p &) && cat p && rm p",
		"umask 022; touch m && chmod 755 m && test -x m && rm m",
		"mkdir sticky && chmod 1777 sticky && rmdir sticky",
		"tar cf t.tar /usr/bin/env 2>/dev/null && tar tf t.tar && rm t.tar",
		"f=$(mktemp) && echo x > $f && test -s $f",
		"echo x > $HOME/y && cat ~/y && test $HOME = /home/user",
		"cat <<X\nhere\nX",
		"sleep 0 & wait",
		"head -c 10 /dev/urandom > /dev/null && echo x > /dev/null && head -c 3 /dev/zero | wc -c",
		"ps aux 2>/dev/null | wc -l; ls /proc/self/fd",
		"test $(ls /proc | grep -c '^[0-9]') -lt 10",
		"touch file && test -O file && test -w . && stat file",
		"exec 3<>/dev/null; echo x >&3",
		"date; hostname; uname -a; id; nproc || true",
		"sh -c 'trap \"exit 0\" TERM; kill $$; exit 1'",
		"test \"$(echo x | tee /dev/stdout)\" != y",
	} {
		t.Run(line, func(t *testing.T) {
			if out, exit := run(t, l, work, line); exit.Code != 0 {
				t.Errorf("%+v %s", exit, out)
			}
		})
	}
}

// TestFilesKeepTheirOwner: what a command makes belongs to the owner of the directory,
// and so does what it finds.
func TestFilesKeepTheirOwner(t *testing.T) {
	l, work := launcher(t, nil)
	before := filepath.Join(work, "before")
	if err := os.WriteFile(before, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, exit := run(t, l, work, "cat before && echo y >> before && mkdir made && touch made/file"); exit.Code != 0 {
		t.Fatalf("%+v %s", exit, out)
	}
	var own unix.Stat_t
	if err := unix.Stat(work, &own); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"before", "made", "made/file"} {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(work, name), &st); err != nil || st.Uid != own.Uid || st.Gid != own.Gid {
			t.Errorf("%s: %d:%d, %v; want %d:%d", name, st.Uid, st.Gid, err, own.Uid, own.Gid)
		}
	}
}

// TestNothingIsInherited: a command has three descriptors, and no variable that is not
// its own.
func TestNothingIsInherited(t *testing.T) {
	l, work := launcher(t, nil)
	leak, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	t.Setenv("SECRET_OF_THE_HOST", "x")
	out, _ := run(t, l, work, `for fd in /proc/$$/fd/*; do echo ${fd##*/}; done; env | sort`)
	var fds []string
	for line := range strings.Lines(out) {
		name, _, variable := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case !variable:
			fds = append(fds, name)
		case !slices.Contains([]string{"PATH", "LANG", "HOME", "USER", "LOGNAME", "TMPDIR", "PWD", "OLDPWD", "_", "SHLVL"}, name):
			t.Errorf("variable %s", name)
		}
	}
	// The shell reads the directory by a descriptor of its own.
	if fds = slices.DeleteFunc(fds, func(fd string) bool { return fd >= "0" && fd <= "3" || fd == "10" }); len(fds) > 0 {
		t.Errorf("descriptors %q", fds)
	}
}

// TestTerminal: a command has a terminal of the sandbox, which can be typed at and
// changes its size.
func TestTerminal(t *testing.T) {
	l, work := launcher(t, nil)
	p := start(t, l, execution.Command{
		Argv:     []string{"/bin/sh", "-c", "tty; stty size; read line; stty size; echo got $line; cat; echo end"},
		Dir:      work,
		Env:      []string{"PATH=/usr/bin:/bin"},
		Terminal: &execution.Size{Columns: 77, Rows: 33},
	})
	lines := bufio.NewReader(p)
	expect := func(want string) {
		t.Helper()
		line, err := lines.ReadString('\n')
		if got := strings.TrimSpace(line); err != nil || got != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	}
	expect("/dev/pts/0")
	expect("33 77")
	if err := p.Resize(execution.Size{Columns: 100, Rows: 50}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p, "word\n"); err != nil {
		t.Fatal(err)
	}
	expect("word") // the echo
	expect("50 100")
	expect("got word")
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	expect("end")
	if _, err := lines.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("%v after the end", err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("%+v, %v", exit, err)
	}
}

// TestKillEndsEverything: descendants that ignore signals and have left their session
// are gone once Kill returns.
func TestKillEndsEverything(t *testing.T) {
	l, work := launcher(t, nil)
	mark := marker(t)
	p := start(t, l, execution.Command{Argv: []string{"/bin/sh", "-c",
		"trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep " + mark + " & sleep " + mark + "' &); sleep " + mark + " & echo ready; wait"}, Dir: work,
		Env: []string{"PATH=/usr/bin:/bin"}})
	readUntil(t, p, "ready")
	p.Interrupt()
	p.Kill()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
	if exit, err := p.Wait(); err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", exit, err)
	}
	p.Kill() // does nothing
	if n, err := p.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v after the end", n, err)
	}
	if _, err := p.Write([]byte("x")); err == nil {
		t.Error("a process that has ended takes input")
	}
}

// TestTheDeathOfThePluginEndsEverything kills a process that has started a command.
func TestTheDeathOfThePluginEndsEverything(t *testing.T) {
	_, work := launcher(t, nil) // it skips where there is no sandbox
	mark := marker(t)
	holder := exec.Command("/proc/self/exe", holderArgument, work)
	holder.Env = []string{markVar + "=" + mark}
	holder.Stderr = os.Stderr
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	init, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(init)
	if len(marked(t, mark)) == 0 {
		t.Fatal("the command does not run")
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	// The init is the last process of the sandbox to end.
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(init), Events: unix.POLLIN}}, 60_000); n != 1 || err != nil {
		t.Errorf("the sandbox goes on: %v", err)
	}
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
}

// holderArgument marks the test binary as a program that starts a command and waits.
const holderArgument = "sandbox-holder"

// markVar has the marker of what it starts.
const markVar = "HOLDER_MARK"

func beHolder(work string) {
	mark := os.Getenv(markVar)
	l, err := confine.New(confine.Options{Write: []string{work}, MemoryBytes: 1 << 30, Processes: 64, FileBytes: 1 << 20, Required: true})
	if err != nil {
		panic(err)
	}
	p, err := l.Start(context.Background(), execution.Command{Argv: []string{"/bin/sh", "-c", "(setsid sleep " + mark + " &); echo ready; sleep " + mark},
		Dir: work, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		panic(err)
	}
	if _, err := io.ReadFull(p, make([]byte, len("ready\n"))); err != nil {
		panic(err)
	}
	fmt.Println(p.PID())
	_, _ = p.Wait() // the test kills this process
}

// TestTheDeathOfTheInitIsTold kills the init from outside, as the kernel does when
// memory runs out.
func TestTheDeathOfTheInitIsTold(t *testing.T) {
	l, work := launcher(t, nil)
	p := start(t, l, execution.Command{Argv: []string{"/bin/sleep", "3600"}, Dir: work})
	if err := unix.Kill(p.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, exit := finish(t, p); exit.Signal != "SIGKILL" || exit.Code != -1 {
		t.Errorf("%+v", exit)
	}
}

// TestForkBomb: the number of processes is bounded, and Kill ends them all.
func TestForkBomb(t *testing.T) {
	const most = 32
	l, work := launcher(t, func(o *confine.Options) { o.Processes = most })
	mark := marker(t)
	p := start(t, l, execution.Command{Argv: []string{"/bin/sh", "-c",
		"i=0; while [ $i -lt 300 ]; do (setsid sleep " + mark + " &) ; i=$((i+1)); done; echo through; sleep " + mark}, Dir: work, Env: []string{"PATH=/usr/bin:/bin"}})
	readUntil(t, p, "ork") // "Cannot fork", "fork: retry"
	const own = 16         // threads of the init
	if n := len(marked(t, mark)); n == 0 || n > most+own {
		t.Fatalf("%d processes, want at most %d", n, most+own)
	}
	p.Kill()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
	// Now that the bound is proven, the real one.
	p = start(t, l, execution.Command{Argv: []string{"/bin/bash", "-c", "b() { b | b & }; b; echo through; sleep " + mark}, Dir: work, Env: []string{"PATH=/usr/bin:/bin"}})
	readUntil(t, p, "ork")
	p.Kill()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("%d processes are left", len(left))
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestStartsThatFail(t *testing.T) {
	l, work := launcher(t, nil)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	before := descriptors(t)
	for name, c := range map[string]execution.Command{
		"no program":              {Dir: work},
		"a program outside":       {Argv: []string{"/nowhere"}, Dir: work},
		"a directory outside":     {Argv: []string{"/bin/true"}, Dir: "/root"},
		"an environment too long": {Argv: []string{"/bin/true"}, Dir: work, Env: []string{strings.Repeat("x", 1<<20)}},
	} {
		if p, err := l.Start(t.Context(), c); err == nil {
			p.Kill()
			t.Errorf("%s: it started", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Start(ctx, execution.Command{Argv: []string{"/bin/true"}, Dir: work}); !errors.Is(err, context.Canceled) {
		t.Errorf("a start whose time is over: %v", err)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// marker is a time to sleep that no other process has in its command line.
func marker(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("3600.%d%d", os.Getpid(), time.Now().UnixNano())
}

// marked are the processes of the machine with a marker.
func marked(t *testing.T, mark string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		b, err := os.ReadFile(path)
		return err != nil || !strings.Contains(string(b), mark)
	})
}

func readUntil(t *testing.T, p execution.Process, want string) {
	t.Helper()
	var got strings.Builder
	b := make([]byte, 4096)
	for !strings.Contains(got.String(), want) {
		n, err := p.Read(b)
		got.Write(b[:n])
		if err != nil {
			t.Fatalf("%q, %v; want %q", got.String(), err, want)
		}
	}
}
