package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/quoinhq/quoin/plugins/internal/child"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// maxErrorLines is how many lines of standard error are kept.
const maxErrorLines = 1000

// pipeGrace is how long output is read once the process has ended.
const pipeGrace = time.Second

// errEnded: the process has ended by itself.
var errEnded = errors.New("the process ended without a handshake")

// launched is a process of the plugin with a connection alone: nothing is done for it, and
// nothing passed over. It keeps what the process writes.
type launched struct {
	process *child.Connection

	mu     sync.Mutex
	line   *child.Handshake
	stderr []string
}

// launch starts the plugin for a host that speaks these versions, and connects to it.
// It also returns a process that has failed, which the caller ends.
func (s *setting) launch(versions string) (*launched, error) {
	cmd, err := s.command()
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.bounded()
	defer cancel()
	l := &launched{}
	l.process, err = child.Launch(ctx, cmd, child.Options{
		Version: s.found.Manifest.Protocol, Offer: versions, Dir: s.scratch, Output: l, Logger: hclog.NewNullLogger(),
		Timeout:   s.timeout + time.Minute, // ctx ends first
		PipeGrace: pipeGrace,
	})
	l.process.Release()
	if err != nil && l.process.Ran() {
		err = l.explain(ctx, err, s.timeout)
	}
	return l, err
}

// command is the plugin's, with what every plugin finds in its environment.
func (s *setting) command() (*exec.Cmd, error) {
	if s.found.Err != nil {
		return nil, s.found.Err
	}
	data, tmp := filepath.Join(s.scratch, "data"), filepath.Join(s.scratch, "tmp")
	if err := errors.Join(os.MkdirAll(data, 0o700), os.MkdirAll(tmp, 0o700)); err != nil {
		return nil, err
	}
	cmd := exec.Command(s.found.Executable())
	cmd.Dir = data
	cmd.Env = []string{
		"TZ=UTC", "HOME=" + data, "TMPDIR=" + tmp,
		protocol.EnvDataDir + "=" + data, protocol.EnvPluginDir + "=" + s.found.Dir,
	}
	return cmd, nil
}

// explain says why go-plugin has given the process up.
func (l *launched) explain(ctx context.Context, err error, timeout time.Duration) error {
	l.process.Close()
	switch refusal := l.process.Refusal(); {
	case refusal != nil:
		return refusal
	case l.handshake() != nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no handshake within %v", timeout)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w: %v; it said %q", errEnded, l.process.Outcome(), l.said())
}

// Stdout implements child.Output.
func (l *launched) Stdout([]byte, bool) {}

// Stderr implements child.Output.
func (l *launched) Stderr(line []byte, _ bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.stderr) < maxErrorLines {
		l.stderr = append(l.stderr, string(line))
	}
}

// Printed implements child.Output. It may be a handshake that no host takes.
func (l *launched) Printed(line string) {
	if h, ok := child.ParseHandshake(line); ok {
		_ = l.Handshake(h) // accepts it
	}
}

// Handshake implements child.Output. It accepts any, for the parts to judge.
func (l *launched) Handshake(h child.Handshake) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line == nil {
		l.line = &h
	}
	return nil
}

// End implements child.Output. A pipe that cannot be read has ended, so that its errors say
// no more.
func (l *launched) End(error) {}

// handshake is the line by which the plugin has said where it listens; nil if it has not.
func (l *launched) handshake() *child.Handshake {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line
}

// said is what the process has written to standard error.
func (l *launched) said() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.stderr...)
}
