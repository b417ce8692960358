package plugins

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
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// child is one operating system process, as go-plugin's runner. It owns the
// pipes: standard input is never written to and ends with the host, standard
// output is searched for the handshake, standard error is the log.
type child struct {
	cmd     *exec.Cmd
	dir     string // private folder the socket must be in
	log     *pluginLog
	version int // of the protocol, as the manifest says

	pipeGrace time.Duration

	stdin          *os.File // write end; closing it tells the plugin to stop
	stdout, stderr *os.File // read ends
	handshake      *io.PipeReader
	toGoPlugin     *io.PipeWriter
	pumps          sync.WaitGroup

	mu               sync.Mutex
	process          *childprocess.Process // nil until started
	killed           bool
	refused          error  // why the handshake was not passed on
	unexpectedStdout string // what was first printed in place of the handshake

	done    chan struct{}
	outcome error // valid after done: nil for exit status 0
}

var _ runner.Runner = (*child)(nil)

func newChild(cmd *exec.Cmd, dir string, log *pluginLog, version int, pipeGrace time.Duration) *child {
	c := &child{cmd: cmd, dir: dir, log: log, version: version, pipeGrace: pipeGrace, done: make(chan struct{})}
	c.handshake, c.toGoPlugin = io.Pipe()
	return c
}

// Start starts the process.
func (c *child) Start(ctx context.Context) error {
	theirs, err := c.pipes()
	if err != nil {
		return err
	}
	p, err := childprocess.Start(ctx, c.cmd)
	if err != nil {
		err = explainExec(c.cmd.Path, err)
	}
	for _, f := range theirs {
		err = errors.Join(err, f.Close())
	}
	if p != nil {
		c.setProcess(p)
	}
	if err != nil {
		c.kill()
		c.cleanUpFailedStart(err)
		return err
	}
	go c.pumpUntilExit(p)
	return nil
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

// setProcess records the started process, and kills it if that was asked for
// meanwhile.
func (c *child) setProcess(p *childprocess.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = p
	if c.killed {
		p.Kill()
	}
}

// explainExec adds what usually is behind an exec error.
func explainExec(path string, err error) error {
	text := err.Error()
	if strings.Contains(text, "exec format error") {
		return fmt.Errorf("%s is not a program for %s: %w", path, manifest.HostPlatform(), err)
	}
	if interpreter := missingInterpreter(path, err); interpreter != "" {
		return fmt.Errorf("%s needs %s, which is not on this machine; install it, or name the one that is in the first line: %w", path, interpreter, err)
	}
	return err
}

// cleanUpFailedStart closes what a failed start leaves behind.
func (c *child) cleanUpFailedStart(err error) {
	c.outcome = errors.Join(err, c.stdin.Close(), c.stdout.Close(), c.stderr.Close())
	c.closeHandshake()
	close(c.done)
}

// pumpUntilExit pumps the output and waits for the end of the process and its group.
func (c *child) pumpUntilExit(p *childprocess.Process) {
	c.pumps.Go(func() { c.pump(c.stdout, c.scanStdout()) })
	c.pumps.Go(func() { c.pump(c.stderr, c.log.stderr) })
	c.outcome = p.Outcome()
	deadline := time.Now().Add(c.pipeGrace)
	c.outcome = errors.Join(c.outcome, c.stdout.SetReadDeadline(deadline), c.stderr.SetReadDeadline(deadline))
	c.pumps.Wait()
	c.outcome = errors.Join(c.outcome, c.stdout.Close(), c.stderr.Close(), c.closeStdin())
	c.log.finish()
	c.closeHandshake()
	close(c.done)
}

// pump reads one pipe to its end.
func (c *child) pump(r io.Reader, each func([]byte, bool)) {
	if err := childprocess.ReadLines(r, each); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
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
			c.noteUnexpectedStdout(printed)
		}
		if handshake == "" {
			return
		}
		shaken = true
		if err := checkHandshakeVersion(handshake, c.version); err != nil {
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

// noteUnexpectedStdout keeps what was printed first, to explain a handshake that does not come.
func (c *child) noteUnexpectedStdout(printed string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unexpectedStdout == "" {
		c.unexpectedStdout = text.Shorten(strings.ToValidUTF8(c.log.secret.text(printed), "\uFFFD"), maxPrinted)
	}
}

// maxPrinted is how many bytes of unexpected output a message quotes.
const maxPrinted = 63

// explainStdout quotes what was printed in place of the handshake; empty for nothing.
func (c *child) explainStdout() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unexpectedStdout == "" {
		return ""
	}
	return fmt.Sprintf("; it printed %q on standard output, where the handshake belongs: print to standard error", c.unexpectedStdout)
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
	if c.process != nil {
		c.process.Kill()
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
	if c.process == nil {
		return ""
	}
	return strconv.Itoa(c.process.PID())
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
