package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// groupLauncher starts a command on this machine, without a terminal.
type groupLauncher struct{}

type groupProcess struct {
	cmd   *exec.Cmd
	out   *os.File
	in    io.WriteCloser
	close sync.Once
}

func (groupLauncher) Start(_ context.Context, c execution.Command) (execution.Process, error) {
	if c.Terminal != nil {
		return nil, errors.New("this host has no terminals")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, w, w
	leadGroup(cmd)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &groupProcess{cmd: cmd, out: r, in: in}, nil
}

func (p *groupProcess) PID() int                    { return p.cmd.Process.Pid }
func (p *groupProcess) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *groupProcess) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p *groupProcess) CloseInput() error           { return p.in.Close() }
func (p *groupProcess) Resize(execution.Size) error { return errors.New("this host has no terminals") }
func (p *groupProcess) Interrupt()                  { signalGroup(p.cmd, false) }
func (p *groupProcess) Kill()                       { signalGroup(p.cmd, true) }

func (p *groupProcess) Wait() (execution.Exit, error) {
	defer p.out.Close()
	if err := p.cmd.Wait(); err != nil && p.cmd.ProcessState == nil {
		return execution.Exit{}, err
	}
	return exitOf(p.cmd.ProcessState), nil
}
