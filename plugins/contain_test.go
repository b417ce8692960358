//go:build linux

package plugins

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// watch opens a process so that its end can be waited for.
func watch(t *testing.T, pid string) int {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// awaitEnd waits for the end of a watched process.
func awaitEnd(t *testing.T, fd int) {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != 1 {
			t.Fatalf("the process lives on (%d, %v)", n, err)
		}
		return
	}
}

func TestPluginDiesWithItsHost(t *testing.T) {
	t.Parallel()
	f := install(t, shortDir(t), "fix", "raw not-json") // it does not watch its standard input
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self)
	host.Env = []string{"QUOIN_TEST_HOST=" + f.Dir}
	host.Stderr = os.Stderr
	stdin, err := host.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	plugin := watch(t, strings.TrimSpace(pid))
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, plugin)
	if host.Wait() == nil {
		t.Error("the host was not killed")
	}

	// What the dead host left behind is swept by the next one.
	run := filepath.Join(f.Dir, "run")
	if left := entries(t, run); len(left) != 1 {
		t.Fatalf("the dead host left %v, want one folder", left)
	}
	r, err := openRunDir(run)
	if err != nil {
		t.Fatal(err)
	}
	if left := entries(t, run); len(left) != 1 || left[0] != filepath.Base(r.path) {
		t.Errorf("after the sweep there are %v", left)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// spawn has the plugin start a process that holds its standard output.
func spawn(t *testing.T, p *Process, tool string) int {
	t.Helper()
	raw, err := p.CallTool(t.Context(), call(tool, none{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out textOut
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return watch(t, out.Text)
}

func TestCloseTakesTheWholeGroup(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	grandchild := spawn(t, p, "spawn")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, grandchild)
}

func TestDeathTakesTheWholeGroup(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	grandchild := spawn(t, p, "spawn")
	if _, err := p.CallTool(t.Context(), call("exit", none{}), nil); err == nil {
		t.Fatal("exit returned a result")
	}
	awaitEnd(t, grandchild)
}

func TestAnEscapedProcessDoesNotHoldUpClose(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	escaped := spawn(t, p, "escape")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.PidfdSendSignal(escaped, unix.SIGKILL, nil, 0); err != nil {
		t.Fatalf("the process was to outlive Close: %v", err)
	}
	awaitEnd(t, escaped)
}

func TestCloseOfAFrozenPluginIsBounded(t *testing.T) {
	t.Parallel()
	clock := newStillClock()
	o := testOptions(t)
	o.clock = clock
	o.CallTimeout = 100 * time.Millisecond
	p := startRole(t, "good", o)
	if _, err := p.CallTool(t.Context(), call("freeze", none{}), nil); err == nil {
		t.Fatal("a frozen plugin answered")
	}
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	clock.fire(t, p.options.CloseTimeout)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if !p.Killed() {
		t.Error("Killed is false after a kill")
	}
	if p.Err() != nil {
		t.Errorf("Err after Close: %v", p.Err())
	}
}

// TestKillDoesNotBlock: of a plugin that is frozen in the middle of a call, by many
// at once, nor of one that is dead or closed.
func TestKillDoesNotBlock(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.clock = newStillClock() // nothing ends by time
	p := startRole(t, "good", o)
	running := make(chan struct{})
	ended := make(chan error)
	go func() {
		_, err := p.CallTool(t.Context(), call("wait", none{}), func(json.RawMessage) { close(running) })
		ended <- err
	}()
	<-running
	pid, err := strconv.Atoi(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var killing sync.WaitGroup
	for range 10 {
		killing.Go(p.Kill)
	}
	killing.Wait()
	<-p.Done()
	wantError(t, <-ended, protocol.KindProcess, protocol.CodeCrashed, "plugin fix died during tool wait", "killed")
	p.Kill()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	p.Kill()
}

func TestPluginsCloseInOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		stop func(p *Process) error
	}{
		{"stopped", func(p *Process) error { return p.Close() }},
		{"left alone", func(p *Process) error {
			err := p.child.CloseStdin() // what the end of the host looks like
			<-p.Done()
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := startRole(t, "good", testOptions(t))
			if err := tt.stop(p); err != nil {
				t.Fatal(err)
			}
			if p.Killed() {
				t.Error("Killed is true after an orderly end")
			}
			if p.child.Outcome() != nil {
				t.Errorf("the plugin ended with %v", p.child.Outcome())
			}
			if _, err := os.Stat(filepath.Join(p.options.DataDir, "closed")); err != nil {
				t.Errorf("OnClose did not run: %v", err)
			}
		})
	}
}

func TestAPluginRunByHandExplainsItself(t *testing.T) {
	t.Parallel()
	f := install(t, shortDir(t), "fix", "good")
	cmd := exec.Command(f.Executable())
	cmd.Env = []string{"QUOIN_PLUGIN=by-hand", "QUOIN_PLUGIN_DIR=" + f.Dir}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the plugin ended with status 0")
	}
	wantParts(t, string(out), "fix 1.0.0 is a plugin for Quoin", "plugin.json")
}

func TestCloseLeavesNothingAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	p := startRole(t, "good", o)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, o.RunDir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	_, err := p.CallTool(t.Context(), call("echo", none{}), nil)
	wantParts(t, err.Error(), "plugin fix was stopped before tool echo")
}

func TestDescriptorsAndGoroutinesStayFlat(t *testing.T) {
	hosttest.Serial(t, "counts what this process holds")
	o := testOptions(t)
	f := install(t, shortDir(t), "fix", "good")
	bad := install(t, shortDir(t), "fix", "other issues")
	once := func() {
		p, err := Start(t.Context(), f, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.CallTool(t.Context(), call("echo", none{}), nil); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		notStarted(t, bad, o)
	}
	once()
	before := openFiles(t)
	const rounds, closing = 15, 3 // descriptors of the last process may not be closed yet
	for range rounds {
		once()
	}
	if after := openFiles(t); after > before+closing {
		t.Errorf("open files went from %d to %d in %d rounds", before, after, rounds)
	}
	// Goroutines are counted by goleak when all tests have run.
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestRunDirIsPrivate(t *testing.T) {
	t.Parallel()
	root := shortDir(t)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := openRunDir(root)
	if err == nil {
		t.Fatal("a folder others can read was accepted")
	}
	wantParts(t, err.Error(), root, "0700")
}

func TestLiveRunDirsAreNotSwept(t *testing.T) {
	t.Parallel()
	root := filepath.Join(shortDir(t), "run")
	a, err := openRunDir(root)
	if err != nil {
		t.Fatal(err)
	}
	b, err := openRunDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if left := entries(t, root); len(left) != 2 {
		t.Errorf("there are %v, want both", left)
	}
	for _, r := range []*runDir{a, b} {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPinnedBinary(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	f := install(t, dir, "fix", "good")
	self, err := os.ReadFile(f.Executable())
	if err != nil {
		t.Fatal(err)
	}
	pin := func(sum string) Candidate {
		writeFile(t, filepath.Join(f.Dir, manifest.Name), `{"id": "fix", "version": "1.0.0", "protocol": 2, "command": "./plugin",
			"sha256": {"`+manifest.HostPlatform()+`": "`+sum+`"}}`)
		return Find(f.Dir)
	}
	o := testOptions(t)
	p, err := Start(t.Context(), pin(hexSum(self)), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	wrong := hexSum([]byte("another binary"))
	err = notStarted(t, pin(wrong), o)
	wantParts(t, err.Error(), wrong, hexSum(self), "plugin fix")
	if start, ok := err.(*StartError); !ok || !start.Refused {
		t.Errorf("not a refusal: %#v", err)
	}
	if left := entries(t, o.RunDir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestConfigurationIsHeldAgainstTheManifest(t *testing.T) {
	t.Parallel()
	f := install(t, shortDir(t), "fix", "good")
	writeFile(t, filepath.Join(f.Dir, manifest.Name), `{"id": "fix", "version": "1.0.0", "protocol": 2, "command": "./plugin",
		"configSchema": {"type": "object", "required": ["token"], "properties": {"token": {"type": "string"}}}}`)
	f = Find(f.Dir)
	for _, config := range []string{"", `{}`, `{"token": 5}`} {
		o := testOptions(t)
		o.Config = json.RawMessage(config)
		wantParts(t, notStarted(t, f, o).Error(), "plugin fix: plugins.config.fix.token is ")
	}
	o := testOptions(t)
	o.Config = json.RawMessage(`{"token": "t"}`)
	p, err := Start(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadLinesCutsAndKeepsReading(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*childprocess.MaxLine)
	var got []string
	var cuts []bool
	each := func(line []byte, cut bool) { got, cuts = append(got, string(line)), append(cuts, cut) }
	if err := childprocess.ReadLines(strings.NewReader("a\n"+long+"\n\nlast"), each); err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || got[0] != "a" || got[1] != long[:childprocess.MaxLine] || got[2] != "" || got[3] != "last" || !cuts[1] || cuts[3] {
		t.Errorf("%d lines, cut %v", len(got), cuts)
	}
	got, cuts = nil, nil
	w := &childprocess.LineWriter{Each: each}
	for part := range bytes.SplitAfterSeq([]byte("one\ntw"+long+"\nrest"), []byte("w")) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0] != "one" || len(got[1]) != childprocess.MaxLine || !cuts[1] {
		t.Errorf("%d lines, cut %v", len(got), cuts)
	}
}

func TestCloseEndsRunningCalls(t *testing.T) {
	t.Parallel()
	p := startRole(t, "good", testOptions(t))
	running, failed := make(chan struct{}), make(chan error)
	go func() {
		_, err := p.CallTool(t.Context(), call("wait", none{}), func(json.RawMessage) { close(running) })
		failed <- err
	}()
	<-running
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-failed, protocol.KindProcess, protocol.CodeStopped, "plugin fix was stopped during tool wait")
}
