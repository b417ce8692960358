package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/internal/childprocess"
)

// program is the running program of one connection.
type program struct {
	process *childprocess.Process
	release func() error // of what ends the group when the host is killed
	conn    *lineConn
	log     *lineLog
	done    chan struct{} // closed when the program is gone and its output is read
}

var _ sdk.Connection = (*lineConn)(nil)

// launch starts the program of a server. Its output is read from then on.
//
// The path is looked up in the host's PATH, while the program gets only the
// variables that its Server names.
func launch(ctx context.Context, s *Server, log *lineLog, pipeGrace time.Duration, changed func()) (*program, error) {
	env, err := s.environment()
	if err != nil {
		return nil, err
	}
	path, err := lookUp(s.Command)
	if err != nil {
		return nil, err
	}
	files := &pipes{}
	inR, inW := files.open()
	outR, outW := files.open()
	errR, errW := files.open()
	if files.err != nil {
		return nil, errors.Join(files.err, files.close())
	}
	process, err := childprocess.Start(ctx, &exec.Cmd{
		Path: path, Args: append([]string{s.Command}, s.Args...), Env: env, Dir: s.Dir,
		Stdin: inR, Stdout: outW, Stderr: errW,
	})
	if err != nil {
		return nil, errors.Join(err, files.close())
	}
	release, err := process.Guard()
	if err != nil {
		process.Kill()
		return nil, errors.Join(err, files.close())
	}
	secrets := s.secrets(env)
	p := &program{process: process, release: release, conn: newLineConn(inW, outR, secrets, log, changed), log: log, done: make(chan struct{})}
	err = errors.Join(inR.Close(), outW.Close(), errW.Close())
	go p.watch(errR, secrets, pipeGrace)
	if err != nil {
		return nil, errors.Join(err, p.stop(0))
	}
	return p, nil
}

// lookUp finds a program, and says what may be wrong with a command that names no program.
func lookUp(command string) (string, error) {
	path, err := exec.LookPath(command)
	switch {
	case err == nil:
		return path, nil
	case strings.HasPrefix(command, "~"), strings.HasPrefix(command, "$"):
		return "", fmt.Errorf("%w; %c stands for something in a shell alone: write the whole path", err, command[0])
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%w; make the file executable", err)
	case strings.ContainsAny(command, `"'`):
		return "", fmt.Errorf("%w; command is started without a shell: leave the quotes out, and put arguments into args", err)
	case strings.ContainsRune(command, ' '):
		return "", fmt.Errorf("%w; command is the program alone: put its arguments into args", err)
	}
	return "", err
}

// cannotStart reports whether a program does not start for a reason that stays.
func cannotStart(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC)
}

// watch logs standard error and waits for the end.
//
// A child of the program may hold the pipes open after it has ended. The deadline
// bounds how long that delays done.
func (p *program) watch(stderr *os.File, secrets [][]byte, pipeGrace time.Duration) {
	read := make(chan error, 1)
	go func() { read <- childprocess.ReadLines(hiding(stderr, secrets), p.log.stderr) }()
	<-p.process.Done()
	if err := p.release(); err != nil {
		p.log.log.Debug("what watches over an MCP server did not end in order", "error", err)
	}
	deadline := time.Now().Add(pipeGrace)
	_ = p.conn.out.SetReadDeadline(deadline) // fails only if it is closed already
	err := stderr.SetReadDeadline(deadline)
	if rerr := <-read; !errors.Is(rerr, os.ErrDeadlineExceeded) {
		err = errors.Join(err, rerr)
	}
	if err = errors.Join(err, stderr.Close()); err != nil {
		p.log.log.Warn("reading what an MCP server writes to standard error", "error", err)
	}
	p.log.finish()
	close(p.done)
}

// stop ends the program in stages: its input ends, it is told to terminate, it is
// killed, each a grace apart.
func (p *program) stop(grace time.Duration) error {
	err := p.conn.Close()
	for _, next := range []func(){p.process.Terminate, p.process.Kill} {
		t := time.NewTimer(grace)
		select {
		case <-p.done:
		case <-t.C:
			next()
		}
		t.Stop()
	}
	<-p.done
	return err
}

// ending says how the program ended, and its last words.
func (p *program) ending() error {
	err := p.process.Outcome()
	switch words := p.log.lastWords(); {
	case err == nil && words == "":
		return errors.New("the program ended")
	case err == nil:
		return fmt.Errorf("the program ended; its last words: %s", words)
	case words == "":
		return fmt.Errorf("the program ended: %w", err)
	default:
		return fmt.Errorf("the program ended: %w; its last words: %s", err, words)
	}
}

// pipes opens pipes and remembers the first failure.
type pipes struct {
	files []*os.File
	err   error
}

// open makes a pipe. After a failure it returns nil files.
func (p *pipes) open() (r, w *os.File) {
	if p.err != nil {
		return nil, nil
	}
	r, w, p.err = os.Pipe()
	if p.err == nil {
		p.files = append(p.files, r, w)
	}
	return r, w
}

// close closes all that were opened, after a start that failed.
func (p *pipes) close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
