package confine_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/execution"
)

func TestMain(m *testing.M) {
	confine.Main()
	if len(os.Args) == 3 && os.Args[1] == probeArgument {
		beProbe(os.Args[2])
	}
	if len(os.Args) == 3 && os.Args[1] == holderArgument {
		beHolder(os.Args[2])
	}
	if len(os.Args) == 3 && os.Args[1] == fetchArgument {
		beFetcher(os.Args[2])
	}
	if len(os.Args) == 2 && os.Args[1] == serveArgument {
		beServer()
	}
	os.Exit(m.Run())
}

// launcher is one with the given options, and a writable directory that commands run in.
func launcher(t *testing.T, change func(*confine.Options)) (*confine.Launcher, string) {
	t.Helper()
	needNamespaces(t)
	work := t.TempDir()
	o := confine.Options{Write: []string{work}, MemoryBytes: 1 << 30, Processes: 64, FileBytes: 64 << 20, Required: true}
	if change != nil {
		change(&o)
	}
	l, err := confine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, work
}

// needNamespaces skips a test where the system allows no user namespaces: there is no
// sandbox then, and New says so.
func needNamespaces(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID}
	if err := cmd.Run(); err != nil {
		t.Skipf("this system allows no user namespaces: %v", err)
	}
}

// run runs a line of shell and returns what it writes and how it ends.
func run(t *testing.T, l *confine.Launcher, work, line string) (string, execution.Exit) {
	t.Helper()
	p := start(t, l, execution.Command{Argv: []string{"/bin/sh", "-c", line}, Dir: work, Env: []string{"PATH=/usr/bin:/bin", "LANG=C"}})
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	return finish(t, p)
}

func start(t *testing.T, l *confine.Launcher, c execution.Command) execution.Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := l.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func finish(t *testing.T, p execution.Process) (string, execution.Exit) {
	t.Helper()
	b, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return string(b), exit
}

func TestACommandRuns(t *testing.T) {
	l, work := launcher(t, nil)
	out, exit := run(t, l, work, "echo out; echo err >&2; id; pwd; echo made > file; ls -la; ls / /dev /etc; cat /proc/mounts; exit 3")
	if exit.Code != 3 || !strings.HasPrefix(out, "out\nerr\nuid=1000(user)") {
		t.Errorf("%+v %s", exit, out)
	}
	r, err := l.Report(t.Context())
	if err != nil || r.Tier != "A" {
		t.Errorf("%+v, %v", r, err)
	}
}
