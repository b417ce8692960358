package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/quoinhq/quoin/internal/childprocess"
)

// Output takes what a process writes. Its methods are called from several goroutines.
type Output interface {
	// Stdout and Stderr take a line without its end; cut says that it was longer.
	Stdout(line []byte, cut bool)
	Stderr(line []byte, cut bool)
	// Printed takes what came where the handshake belongs. Stdout has had it.
	Printed(text string)
	// Handshake takes the handshake before go-plugin does. An error ends the process.
	Handshake(h Handshake) error
	// End is called once, after everything else. err is why output is missing.
	End(err error)
}

// Child is one operating system process, as go-plugin's runner. It owns the
// pipes: standard input is never written to and ends with the host, standard
// output is searched for the handshake, standard error is the log.
type Child struct {
	cmd    *exec.Cmd
	dir    string // private folder the socket must be in
	output Output

	pipeGrace time.Duration

	stdin          *os.File // write end; closing it tells the plugin to stop
	stdout, stderr *os.File // read ends
	handshake      *io.PipeReader
	toGoPlugin     *io.PipeWriter

	mu      sync.Mutex
	process *childprocess.Process // nil until started
	killed  bool
	refused error // why the handshake was not passed on

	done    chan struct{}
	outcome error // valid after done: nil for exit status 0
}

var _ runner.Runner = (*Child)(nil)

// New returns the child that a command starts. Its socket must be in dir. Output is still read
// for pipeGrace when the process has ended, for descendants that hold its pipes.
func New(cmd *exec.Cmd, dir string, output Output, pipeGrace time.Duration) *Child {
	c := &Child{cmd: cmd, dir: dir, output: output, pipeGrace: pipeGrace, done: make(chan struct{})}
	c.handshake, c.toGoPlugin = io.Pipe()
	return c
}

// Start starts the process.
func (c *Child) Start(ctx context.Context) error {
	theirs, err := c.pipes()
	if err != nil {
		return err
	}
	p, err := childprocess.Start(ctx, c.cmd)
	for _, f := range theirs {
		err = errors.Join(err, f.Close())
	}
	if p != nil {
		c.setProcess(p)
	}
	if err != nil {
		c.Stop()
		c.cleanUpFailedStart(err)
		return err
	}
	go c.pumpUntilExit(p)
	return nil
}

// pipes makes the three pipes and returns the ends that go to the process.
func (c *Child) pipes() (theirs []*os.File, err error) {
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

// setProcess records the started process, and kills it if that was asked for in
// the meantime.
func (c *Child) setProcess(p *childprocess.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = p
	if c.killed {
		p.Kill()
	}
}

// cleanUpFailedStart closes what a failed start leaves behind.
func (c *Child) cleanUpFailedStart(err error) {
	c.outcome = errors.Join(err, c.stdin.Close(), c.stdout.Close(), c.stderr.Close())
	c.closeHandshake()
	close(c.done)
}

// pumpUntilExit pumps the output and waits for the end of the process and its group.
func (c *Child) pumpUntilExit(p *childprocess.Process) {
	var pumps sync.WaitGroup
	var unread [2]error
	pumps.Go(func() { unread[0] = read(c.stdout, c.scanStdout()) })
	pumps.Go(func() { unread[1] = read(c.stderr, c.output.Stderr) })
	c.outcome = p.Outcome()
	deadline := time.Now().Add(c.pipeGrace)
	c.outcome = errors.Join(c.outcome, c.stdout.SetReadDeadline(deadline), c.stderr.SetReadDeadline(deadline))
	pumps.Wait()
	c.outcome = errors.Join(c.outcome, c.stdout.Close(), c.stderr.Close(), c.CloseStdin())
	c.output.End(errors.Join(unread[:]...))
	c.closeHandshake()
	close(c.done)
}

// read reads one pipe to its end.
func read(r io.Reader, each func([]byte, bool)) error {
	err := childprocess.ReadLines(r, each)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// scanStdout passes the handshake on to go-plugin.
func (c *Child) scanStdout() func([]byte, bool) {
	shaken := false
	return func(line []byte, cut bool) {
		if shaken {
			c.output.Stdout(line, cut)
			return
		}
		printed, handshake := findHandshake(strings.TrimRight(string(line), "\r"))
		if printed != "" {
			c.output.Stdout([]byte(printed), cut)
			c.output.Printed(printed)
		}
		if handshake == "" {
			return
		}
		shaken = true
		h, _ := ParseHandshake(handshake)
		if err := c.output.Handshake(h); err != nil {
			c.refuse(err)
			c.Stop()
			return
		}
		// The reader is go-plugin, or gone: an error needs no handling.
		_, _ = io.WriteString(c.toGoPlugin, handshake+"\n")
	}
}

func (c *Child) closeHandshake() {
	_ = c.toGoPlugin.Close() // never fails, by its documentation
}

// CloseStdin tells the plugin that the host wants it to stop. It may be called
// again.
func (c *Child) CloseStdin() error {
	err := c.stdin.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Stop ends the process and its group at once, also one that is about to start. It does
// nothing once they are gone.
func (c *Child) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if c.process != nil {
		c.process.Kill()
	}
}

// Done is closed when the process has ended and its output is read.
func (c *Child) Done() <-chan struct{} { return c.done }

// Outcome is how it ended, once it is Done: nil for exit status 0.
func (c *Child) Outcome() error { return c.outcome }

// Refusal is why the handshake was not accepted, nil if it was or has not come.
func (c *Child) Refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// Wait waits for the end of the process.
func (c *Child) Wait(context.Context) error {
	<-c.done
	return c.outcome
}

// Kill is Stop for go-plugin.
func (c *Child) Kill(context.Context) error {
	c.Stop()
	return nil
}

// Stdout is what go-plugin reads the handshake from.
func (c *Child) Stdout() io.ReadCloser { return c.handshake }

// Stderr is empty for go-plugin: this package reads the log itself.
func (c *Child) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the path of the binary.
func (c *Child) Name() string { return c.cmd.Path }

// ID is the process id.
func (c *Child) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return ""
	}
	return strconv.Itoa(c.process.PID())
}

// Diagnose has nothing to add: Start explains failures itself.
func (c *Child) Diagnose(context.Context) string { return "" }

// PluginToHost accepts the address a plugin offers only if it is a socket in
// the folder made for it.
func (c *Child) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" || filepath.Dir(filepath.Clean(address)) != c.dir {
		return "", "", c.refuse(fmt.Errorf("the plugin offers %s address %q; it must listen on a unix socket in PLUGIN_UNIX_SOCKET_DIR", network, address))
	}
	info, err := os.Lstat(address)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return "", "", c.refuse(fmt.Errorf("the plugin offers %q, which is not a socket", address))
	}
	return network, address, nil
}

func (c *Child) refuse(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = err
	return err
}

// HostToPlugin leaves addresses as they are: both sides share the file system.
func (c *Child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
