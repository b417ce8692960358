package node

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/internal/shell/sshtest"
)

// viaSSH returns a node behind a real sshd, with this executable as its quoin. An empty one
// has no quoin.
func viaSSH(t *testing.T, raw string) (*sshtest.Server, *Node) {
	t.Helper()
	bin := t.TempDir()
	if raw != "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\n[ \"$*\" = " + WorkerCommand + " ] && " + workerEnv + "='" + raw + "' exec " + self + "\n"
		if err := os.WriteFile(filepath.Join(bin, "quoin"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server := sshtest.New(t, "PATH="+bin+":/usr/bin:/bin", "TMPDIR="+bin)
	n, err := New(&settings.Settings{Nodes: map[string]string{"builder": server.Address}, Path: []string{server.Bin}}, "builder")
	if err != nil {
		t.Fatal(err)
	}
	return server, n
}

// TestSSHRunsCommands judges one and runs it, with all its input and output.
func TestSSHRunsCommands(t *testing.T) {
	t.Parallel()
	_, n := viaSSH(t, `{"host":"gateway","allow":["cat"]}`)
	if v, err := n.Judge(t.Context(), Job{Line: "ls"}); err != nil || v.Allowed || v.Security != settings.Allowlist {
		t.Errorf("%+v, %v", v, err)
	}
	p, err := run(t, n, Job{Line: "cat"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("tea\n")); err != nil {
		t.Error(err)
	}
	if err := p.CloseInput(); err != nil {
		t.Error(err)
	}
	if out := outputOf(t, p); out != "tea\n" {
		t.Errorf("%q", out)
	}
	if _, err := run(t, n, Job{Line: "ls /"}); !errors.Is(err, ErrApproval) {
		t.Errorf("%v", err)
	}
}

// TestSSHThatCannotBeUsed: a machine without a quoin, one with another key than the known one,
// and one that is not there.
func TestSSHThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	_, empty := viaSSH(t, "")
	server, stranger := viaSSH(t, full)
	if err := server.Forget(); err != nil {
		t.Fatal(err)
	}
	_, gone := viaSSH(t, full)
	gone.command[len(gone.command)-3] = "ssh://127.0.0.1:1"
	for _, c := range []struct {
		node *Node
		want string
	}{
		{empty, "finds no quoin there"},
		{stranger, "Host key verification failed"},
		{gone, "Connection refused"},
	} {
		if _, err := run(t, c.node, Job{Line: "echo"}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestSSHThatIsCutEndsTheProcess: the output until then is there, and nothing runs on.
func TestSSHThatIsCutEndsTheProcess(t *testing.T) {
	t.Parallel()
	server, n := viaSSH(t, full)
	p, err := run(t, n, Job{Line: family})
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(p)
	pids := numbers(t, lines)
	server.Cut()
	for lines.Scan() {
	}
	if err := lines.Err(); !errors.Is(err, errLost) {
		t.Errorf("%v", err)
	}
	if exit, err := p.Wait(); !errors.Is(err, errLost) || !strings.Contains(err.Error(), "run the command again") {
		t.Errorf("%+v, %v", exit, err)
	}
	for _, pid := range pids {
		awaitEnd(t, pid)
	}
}

// TestSSHKillsEverything that a process has started.
func TestSSHKillsEverything(t *testing.T) {
	t.Parallel()
	_, n := viaSSH(t, full)
	p, err := run(t, n, Job{Line: family})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(p, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if exit, err := p.Wait(); err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", exit, err)
	}
	awaitEnd(t, p.PID())
}
