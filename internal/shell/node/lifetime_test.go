//go:build linux

package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// The variables that make this executable a node, or a gateway that runs one job.
const (
	nodeEnv    = "QUOIN_TEST_NODE"    // the home
	gatewayEnv = "QUOIN_TEST_GATEWAY" // the directory of enrolments
	jobEnv     = "QUOIN_TEST_JOB"     // the command line
)

// helperMain is the node or the gateway, if this process is to be one.
func helperMain() {
	var err error
	switch {
	case os.Getenv(nodeEnv) != "":
		err = nodeMain(os.Getenv(nodeEnv))
	case os.Getenv(gatewayEnv) != "":
		err = gatewayMain(os.Getenv(gatewayEnv), os.Getenv(jobEnv))
	default:
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// nodeMain serves a node that runs every command, and says where it listens.
func nodeMain(dir string) error {
	s, err := settings.Parse([]byte(`{"host":"gateway","security":"full","ask":"off"}`))
	if err != nil {
		return err
	}
	server, err := NewServer(Options{Home: OpenHome(dir), Settings: s, Launcher: launch.New(), Workdir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return server.Serve(context.Background(), l)
}

// gatewayMain runs a job and passes its output on.
func gatewayMain(dir, line string) error {
	n, err := Open(dir).Node("builder")
	if err != nil {
		return err
	}
	p, err := n.Start(context.Background(), Job{Line: line}, nil, false)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, p)
	return err
}

// startHelper starts this executable as one of the two, and returns what it says first.
func startHelper(t *testing.T, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("it says nothing: %v", lines.Err())
	}
	return cmd, lines
}

// another starts a node in a process of its own, at which this one is enrolled.
func another(t *testing.T) (cmd *exec.Cmd, nodes *Nodes, dir string) {
	t.Helper()
	dir = t.TempDir()
	home := filepath.Join(dir, "node")
	cmd, lines := startHelper(t, nodeEnv+"="+home)
	token, err := OpenHome(home).Invite(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	nodes = Open(filepath.Join(dir, "nodes"))
	t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := nodes.Add(t.Context(), "builder", lines.Text(), token, "g"); err != nil {
		t.Fatal(err)
	}
	return cmd, nodes, dir
}

// family is a command line of a process with a child in a session of its own that ignores
// SIGTERM. It says both their numbers.
const family = `trap '' TERM; setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & sleep 0.1; echo $$; wait`

// twoNumbers reads what family says.
func twoNumbers(t *testing.T, lines *bufio.Scanner) (pids []int) {
	t.Helper()
	for range 2 {
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatalf("%q: %v", lines.Text(), lines.Err())
		}
		if pids = append(pids, pid); len(pids) < 2 {
			lines.Scan()
		}
	}
	return pids
}

// awaitEnd returns once no process of the list runs.
func awaitEnd(t *testing.T, pids []int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		left := 0
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil && !zombie(pid) {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %v still run", left, pids)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// zombie reports whether a process has ended, and its parent has not looked.
func zombie(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, after, _ := strings.Cut(string(status), ") ")
	return err != nil || strings.HasPrefix(after, "Z")
}

// TestTheEndOfAGatewayEndsItsProcesses kills a gateway. Its processes ignore SIGTERM.
func TestTheEndOfAGatewayEndsItsProcesses(t *testing.T) {
	t.Parallel()
	_, _, dir := another(t)
	gateway, lines := startHelper(t, gatewayEnv+"="+filepath.Join(dir, "nodes"), jobEnv+"="+family)
	pids := twoNumbers(t, lines)
	if err := gateway.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pids)
}

// TestTheEndOfANodeEndsItsProcesses kills a node. The gateway learns that its process is
// lost.
func TestTheEndOfANodeEndsItsProcesses(t *testing.T) {
	t.Parallel()
	cmd, nodes, _ := another(t)
	n, err := nodes.Node("builder")
	if err != nil {
		t.Fatal(err)
	}
	p, err := n.Start(t.Context(), Job{Line: family}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(p)
	lines.Scan()
	pids := twoNumbers(t, lines)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := lines.Err(); !errors.Is(err, errLost) {
		t.Errorf("%v", err)
	}
	if exit, err := p.Wait(); !errors.Is(err, errLost) {
		t.Errorf("%+v, %v", exit, err)
	}
	if _, err := p.Write([]byte("x")); err == nil {
		t.Error("a process that is lost takes input")
	}
	p.Kill()
	awaitEnd(t, pids)
	if _, err := n.Start(t.Context(), Job{Line: "true"}, nil, false); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

// startFamily starts the family through a connection and reads its numbers.
func startFamily(t *testing.T, n *Node) (execution.Process, []int) {
	t.Helper()
	p, err := n.Start(t.Context(), Job{Line: family}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(p)
	lines.Scan()
	return p, twoNumbers(t, lines)
}

// full is the policy of a node that runs every command.
func full(s *settings.Settings) { s.Security, s.Ask = settings.Full, settings.AskOff }

// viaProxy is the node behind a proxy.
func viaProxy(t *testing.T) (*proxy, *Node) {
	t.Helper()
	f, n := enrolled(t, launch.New(), full)
	p := startProxy(t, f.address)
	through := n.enrolment
	through.Address = p.address
	m, err := connect(through)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, m
}

// TestALostConnectionEndsTheProcess cuts the connection.
func TestALostConnectionEndsTheProcess(t *testing.T) {
	t.Parallel()
	proxy, n := viaProxy(t)
	p, pids := startFamily(t, n)
	proxy.cut()
	if exit, err := p.Wait(); !errors.Is(err, errLost) {
		t.Errorf("%+v, %v", exit, err)
	}
	awaitEnd(t, pids)
}

// TestASilentConnectionEndsTheProcess loses all bytes, and leaves the connection open.
func TestASilentConnectionEndsTheProcess(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes as long as a connection may be silent: 15 seconds")
	}
	proxy, n := viaProxy(t)
	p, pids := startFamily(t, n)
	proxy.hold()
	if exit, err := p.Wait(); !errors.Is(err, errLost) {
		t.Errorf("%+v, %v", exit, err)
	}
	awaitEnd(t, pids)
}

// TestTheEndOfAnEnrolmentEndsProcesses removes a gateway from the node.
func TestTheEndOfAnEnrolmentEndsProcesses(t *testing.T) {
	t.Parallel()
	f, n := enrolled(t, launch.New(), full)
	p, pids := startFamily(t, n)
	list, err := f.home.Gateways()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := f.home.RemoveGateway(list[0].Fingerprint); err != nil {
		t.Fatal(err)
	}
	// The node may still say how it has ended the process.
	if exit, err := p.Wait(); err == nil && exit.Signal == "" {
		t.Errorf("%+v", exit)
	}
	awaitEnd(t, pids)
	if _, err := n.Judge(t.Context(), Job{Line: "true"}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

// TestAProcessThatIsNotReadStops lets a process write without end while no one reads:
// flow control stops it, and it can be killed. What is read then is whole.
func TestAProcessThatIsNotReadStops(t *testing.T) {
	t.Parallel()
	_, n := enrolled(t, launch.New(), full)
	p, err := n.Start(t.Context(), Job{Line: "exec yes"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	stopped := func() bool {
		before := written(t, p.PID())
		time.Sleep(50 * time.Millisecond)
		return written(t, p.PID()) == before
	}
	for deadline := time.Now().Add(time.Minute); !stopped(); {
		if time.Now().After(deadline) {
			t.Fatal("it goes on to write")
		}
	}
	if n := written(t, p.PID()); n > 4<<20 {
		t.Errorf("%d bytes are on their way", n)
	}
	p.Kill()
	if exit, err := p.Wait(); err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", exit, err)
	}
}

// written is how many bytes a process has written.
func written(t *testing.T, pid int) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "wchar: "); ok {
			n, err = strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestInputAndOutputAreWhole sends a large text through a process.
func TestInputAndOutputAreWhole(t *testing.T) {
	t.Parallel()
	_, n := enrolled(t, launch.New(), full)
	p, err := n.Start(t.Context(), Job{Line: "exec cat"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 5<<20)
	for i := range want {
		want[i] = byte(i ^ i>>8 ^ i>>16)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := p.Write(want)
		wrote <- errors.Join(err, p.CloseInput())
	}()
	got, err := io.ReadAll(p)
	if err := errors.Join(err, <-wrote); err != nil || string(got) != string(want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("%+v, %v", exit, err)
	}
}

// TestStartIsBoundByItsContext starts with a context that has ended, and with one that
// ends afterwards.
func TestStartIsBoundByItsContext(t *testing.T) {
	t.Parallel()
	_, n := enrolled(t, launch.New(), full)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := n.Start(ctx, Job{Line: "echo on"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if out, err := io.ReadAll(p); err != nil || string(out) != "on\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := n.Start(ctx, Job{Line: "echo on"}, nil, false); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestANodeRunsNoMoreThanItsBound starts one process more than maxProcesses.
func TestANodeRunsNoMoreThanItsBound(t *testing.T) {
	t.Parallel()
	_, n := enrolled(t, launch.New(), func(s *settings.Settings) { full(s); s.MaxProcesses = 1 })
	p, err := n.Start(t.Context(), Job{Line: "exec cat"}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Start(t.Context(), Job{Line: "true"}, nil, false); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	p.Kill()
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
}
