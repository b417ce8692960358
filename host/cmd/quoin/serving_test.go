package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// served is a quoin serve that a script has started.
type served struct {
	cmd   *osexec.Cmd
	rest  chan struct{} // closed at the end of its standard output
	ended bool
}

type servedKey struct{}

// servers are the servers of a script, by the name it gave them.
func servers(ts *testscript.TestScript) map[string]*served {
	return ts.Value(servedKey{}).(map[string]*served)
}

// cmdServe starts a server on a free port and puts its URL into a variable of its
// name: serve NAME ARG... Its log is NAME.log.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve NAME ARG...")
	}
	startServer(ts, args[0], append([]string{"serve", "--listen", "127.0.0.1:0"}, args[1:]...))
}

// startServer starts a command that says where it listens, and puts that into a variable.
func startServer(ts *testscript.TestScript, name string, args []string) {
	log, err := os.Create(ts.MkAbs(name + ".log"))
	ts.Check(err)
	defer log.Close()
	cmd := osexec.Command(quoin(ts), args...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), log
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"), "XDG_CONFIG_HOME="+ts.Getenv("XDG_CONFIG_HOME"), "QUOIN_CONFIG="+ts.Getenv("QUOIN_CONFIG"), "NOTIFY_SOCKET="+ts.Getenv("NOTIFY_SOCKET"), "QUOIN_TOKEN="+ts.Getenv("SERVE_TOKEN"), "DATABASE="+ts.Getenv("DATABASE"), "SECOND="+ts.Getenv("SECOND"), "CLUSTER_SECRET="+ts.Getenv("CLUSTER_SECRET"))
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s := &served{cmd: cmd, rest: make(chan struct{})}
	servers(ts)[name] = s
	ts.Defer(func() {
		if !s.ended {
			_ = s.end(syscall.SIGKILL) // the script has failed already
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		close(s.rest)
		ts.Fatalf("quoin serve said nothing: %v\n%s", s.end(syscall.SIGTERM), ts.ReadFile(name+".log"))
	}
	url, ok := strings.CutPrefix(lines.Text(), "listening on ")
	go func() {
		defer close(s.rest)
		for lines.Scan() { // it says no more
		}
	}()
	if !ok {
		ts.Fatalf("quoin serve said %q", lines.Text())
	}
	ts.Setenv(name, url)
}

// quoin finds the command where scripts do.
func quoin(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, "quoin")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	ts.Fatalf("there is no quoin in PATH")
	return ""
}

// end sends a signal and waits for the end.
func (s *served) end(sig os.Signal) error {
	s.ended = true
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.rest
	return s.cmd.Wait()
}

// cmdPending returns once a run of the command's session waits for a tool:
// pending NAME
func cmdPending(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: pending NAME")
	}
	c, err := client.New(ts.Getenv(args[0]), client.Options{})
	ts.Check(err)
	defer c.Close()
	for {
		runs, err := c.Runs(context.Background(), host.Session{SessionID: "cli"})
		ts.Check(err)
		if slices.ContainsFunc(runs, func(r codemode.RunInfo) bool { return len(r.PendingToolCalls) > 0 }) {
			return
		}
	}
}

// cmdDriven returns once a call waits for a person in a run of the command's session
// that a client waits for: driven NAME
func cmdDriven(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: driven NAME")
	}
	c, err := client.New(ts.Getenv(args[0]), client.Options{})
	ts.Check(err)
	defer c.Close()
	for {
		runs, err := c.Runs(context.Background(), host.Session{SessionID: "cli"})
		ts.Check(err)
		list, err := c.Approvals(context.Background(), policy.Filter{})
		ts.Check(err)
		if len(list) > 0 && slices.ContainsFunc(runs, func(r codemode.RunInfo) bool { return r.Status == codemode.RunRunning }) {
			return
		}
	}
}

// cmdAppears returns once a file exists and has a text in it: appears FILE [TEXT]
func cmdAppears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: appears FILE [TEXT]")
	}
	text := append(args, "")[1]
	ts.Check(hosttest.AwaitFile(context.Background(), ts.MkAbs(args[0]), text))
}

// cmdHangup sends SIGHUP to a server: hangup NAME
func cmdHangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hangup NAME")
	}
	ts.Check(servers(ts)[args[0]].cmd.Process.Signal(syscall.SIGHUP))
}

// cmdManager listens for what a server tells its service manager, and puts it into a
// file, a line each, where NOTIFY_SOCKET is passed on: manager FILE
func cmdManager(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: manager FILE")
	}
	dir, err := os.MkdirTemp("", "manager") // the path of a socket is short
	ts.Check(err)
	socket := filepath.Join(dir, "s")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	ts.Check(err)
	ts.Setenv("NOTIFY_SOCKET", socket)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		said := ""
		for b := make([]byte, 4096); ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			said += string(b[:n]) + "\n"
			if os.WriteFile(ts.MkAbs(args[0]), []byte(said), 0o600) != nil {
				return
			}
		}
	}()
	ts.Defer(func() {
		ts.Check(c.Close())
		<-heard
		ts.Check(os.RemoveAll(dir))
	})
}

// cmdHalt ends a server with a signal and requires its exit code; KILL leaves
// none. TWICE is TERM, and TERM again once it has been heard:
// halt NAME TERM|INT|KILL|TWICE CODE
func cmdHalt(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "TWICE": syscall.SIGTERM}
	if neg || len(args) != 3 || signals[args[1]] == 0 {
		ts.Fatalf("usage: halt NAME TERM|INT|KILL|TWICE CODE")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	s := servers(ts)[args[0]]
	if s == nil {
		ts.Fatalf("there is no server %s", args[0])
	}
	if args[1] == "TWICE" {
		ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
		for !strings.Contains(ts.ReadFile(args[0]+".log"), "shutting down") {
		}
	}
	err = s.end(signals[args[1]])
	var exit *osexec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := s.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d\n%s", got, want, ts.ReadFile(args[0]+".log"))
	}
}
