//go:build unix

package node

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// pipes is a Launcher of processes that have no descendants which leave their group.
type pipes struct{}

func (pipes) Start(_ context.Context, c execution.Command) (execution.Process, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &piped{cmd: cmd, in: in, out: r}, nil
}

type piped struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	once sync.Once
	exit execution.Exit
	err  error
}

func (p *piped) PID() int                      { return p.cmd.Process.Pid }
func (p *piped) Read(b []byte) (int, error)    { return p.out.Read(b) }
func (p *piped) Write(b []byte) (int, error)   { return p.in.Write(b) }
func (p *piped) CloseInput() error             { return p.in.Close() }
func (p *piped) Resize(s execution.Size) error { return errors.New("no terminal") }
func (p *piped) Interrupt()                    { _ = syscall.Kill(-p.PID(), syscall.SIGTERM) }

func (p *piped) Kill() {
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
	_, _ = p.Wait()
}

func (p *piped) Wait() (execution.Exit, error) {
	p.once.Do(func() {
		err := p.cmd.Wait()
		_ = p.in.Close() // a write that waits fails
		state := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		p.exit.Code = state.ExitStatus()
		if state.Signaled() {
			p.exit = execution.Exit{Code: -1, Signal: "SIGKILL"}
			if state.Signal() == syscall.SIGTERM {
				p.exit.Signal = "SIGTERM"
			}
		}
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			p.err = err
		}
	})
	return p.exit, p.err
}
