package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

// pipeGrace is how long output is still read after the process is gone, for a
// descendant that escaped its group and holds the pipes.
const pipeGrace = 200 * time.Millisecond

// child is one operating system process, as go-plugin's runner. It owns the
// pipes: standard input is never written to and ends with the host, standard
// output is searched for the handshake, standard error is the log.
//
// One goroutine, locked to its thread, starts the process, waits for it, kills
// what is left of its group, and records the outcome; then it closes done.
type child struct {
	cmd *exec.Cmd
	dir string // private folder the socket must be in
	log *pluginLog

	stdin          *os.File // write end; closing it tells the plugin to stop
	stdout, stderr *os.File // read ends
	handshake      *io.PipeReader
	toGoPlugin     *io.PipeWriter
	pumps          sync.WaitGroup

	mu      sync.Mutex
	pid     int
	killed  bool
	reaped  bool
	refused error // why the handshake was not passed on

	done    chan struct{}
	outcome error // valid after done: nil for exit status 0
}

var _ runner.Runner = (*child)(nil)

func newChild(cmd *exec.Cmd, dir string, log *pluginLog) *child {
	c := &child{cmd: cmd, dir: dir, log: log, done: make(chan struct{})}
	c.handshake, c.toGoPlugin = io.Pipe()
	return c
}

// Start starts the process. The goroutine behind it lives as long as the
// process: the thread that started a process must, for its death to mean the
// host's.
func (c *child) Start(ctx context.Context) error {
	theirs, err := c.pipes()
	if err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.exec(ctx)
		for _, f := range theirs {
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			c.abandon(err)
			started <- err
			return
		}
		started <- nil
		c.await()
	}()
	return <-started
}

// pipes makes the three pipes and returns the ends that go to the process.
func (c *child) pipes() (theirs []*os.File, err error) {
	var opened []*os.File
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		r, w, err = os.Pipe()
		if err == nil {
			opened = append(opened, r, w)
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if err != nil {
		for _, f := range opened {
			err = errors.Join(err, f.Close())
		}
		return nil, err
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = inR, outW, errW
	c.stdin, c.stdout, c.stderr = inW, outR, errR
	return []*os.File{inR, outW, errW}, nil
}

// exec starts the command. A binary that was written a moment ago may still be
// open for writing in a process forked meanwhile, so that is tried again.
func (c *child) exec(ctx context.Context) error {
	if err := contain(c.cmd); err != nil {
		return err
	}
	const attempts = 20
	for i := 1; ; i++ {
		cmd := copyCommand(c.cmd) // a command starts only once
		err := withCalmTimers(cmd.Start)
		if err == nil {
			c.adopt(cmd)
			return nil
		}
		if !busyBinary(err) || i == attempts {
			return explainExec(c.cmd.Path, err)
		}
		select {
		case <-ctx.Done():
			return explainExec(c.cmd.Path, err)
		case <-time.After(time.Duration(i) * time.Millisecond):
		}
	}
}

// copyCommand returns a command that has not been started.
func copyCommand(c *exec.Cmd) *exec.Cmd {
	return &exec.Cmd{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		SysProcAttr: c.SysProcAttr,
	}
}

// adopt records the started command, and kills it if that was asked for
// meanwhile.
func (c *child) adopt(cmd *exec.Cmd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd, c.pid = cmd, cmd.Process.Pid
	if c.killed {
		killGroup(c.pid)
	}
}

// explainExec adds what usually is behind an exec error.
func explainExec(path string, err error) error {
	text := err.Error()
	if strings.Contains(text, "exec format error") {
		return fmt.Errorf("%s is not a program for %s: %w", path, hostPlatform(), err)
	}
	return err
}

// abandon closes what a failed start leaves behind.
func (c *child) abandon(err error) {
	c.outcome = errors.Join(err, c.stdin.Close(), c.stdout.Close(), c.stderr.Close())
	c.mu.Lock()
	c.reaped = true
	c.mu.Unlock()
	c.closeHandshake()
	close(c.done)
}

// await pumps the output and waits for the end of the process and its group.
func (c *child) await() {
	c.pumps.Go(func() { c.pump(c.stdout, c.scanStdout()) })
	c.pumps.Go(func() { c.pump(c.stderr, c.log.stderr) })
	waitExit(c.cmd.Process)
	c.mu.Lock()
	killGroup(c.pid) // before reaping, while the number cannot be another's
	c.outcome = c.cmd.Wait()
	c.reaped = true
	c.mu.Unlock()
	deadline := time.Now().Add(pipeGrace)
	c.outcome = errors.Join(c.outcome, c.stdout.SetReadDeadline(deadline), c.stderr.SetReadDeadline(deadline))
	c.pumps.Wait()
	c.outcome = errors.Join(c.outcome, c.stdout.Close(), c.stderr.Close(), c.closeStdin())
	c.log.finish()
	c.closeHandshake()
	close(c.done)
}

// pump reads one pipe to its end.
func (c *child) pump(r io.Reader, each func([]byte, bool)) {
	if err := readLines(r, each); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.log.logger.Warn("reading the plugin's output", "error", err)
	}
}

// scanStdout passes the handshake on to go-plugin and logs everything else.
func (c *child) scanStdout() func([]byte, bool) {
	shaken := false
	return func(line []byte, cut bool) {
		if shaken {
			c.log.stdout(line, cut)
			return
		}
		printed, handshake := findHandshake(strings.TrimRight(string(line), "\r"))
		if printed != "" {
			c.log.stdout([]byte(printed), cut)
		}
		if handshake == "" {
			return
		}
		shaken = true
		if err := checkHandshakeVersion(handshake); err != nil {
			c.mu.Lock()
			c.refused = err
			c.mu.Unlock()
			c.kill()
			return
		}
		// The reader is go-plugin, or gone: an error needs no handling.
		_, _ = io.WriteString(c.toGoPlugin, handshake+"\n")
	}
}

func (c *child) closeHandshake() {
	_ = c.toGoPlugin.Close() // never fails, by its documentation
}

// closeStdin tells the plugin that the host wants it to stop. It may be called
// again.
func (c *child) closeStdin() error {
	err := c.stdin.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// kill ends the process and its group, also one that is about to start. It does
// nothing once they are gone.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if c.pid != 0 && !c.reaped {
		killGroup(c.pid)
		_ = c.cmd.Process.Kill() // fails only if the process is already gone
	}
}

// refusal is why the handshake was not accepted, nil if it was or has not come.
func (c *child) refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// Wait waits for the end of the process.
func (c *child) Wait(context.Context) error {
	<-c.done
	return c.outcome
}

// Kill ends the process and its group.
func (c *child) Kill(context.Context) error {
	c.kill()
	return nil
}

// Stdout is what go-plugin reads the handshake from.
func (c *child) Stdout() io.ReadCloser { return c.handshake }

// Stderr is empty for go-plugin: this package reads the log itself.
func (c *child) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the path of the binary.
func (c *child) Name() string { return c.cmd.Path }

// ID is the process id.
func (c *child) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strconv.Itoa(c.pid)
}

// Diagnose has nothing to add: Start explains failures itself.
func (c *child) Diagnose(context.Context) string { return "" }

// PluginToHost accepts the address a plugin offers only if it is a socket in
// the folder made for it.
func (c *child) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" || filepath.Dir(filepath.Clean(address)) != c.dir {
		return "", "", c.refuse("the plugin offers %s address %q; it must listen on a unix socket in PLUGIN_UNIX_SOCKET_DIR", network, address)
	}
	info, err := os.Lstat(address)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return "", "", c.refuse("the plugin offers %q, which is not a socket", address)
	}
	return network, address, nil
}

func (c *child) refuse(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = err
	return err
}

// HostToPlugin leaves addresses as they are: both sides share the file system.
func (c *child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
