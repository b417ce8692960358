package childprocess

import (
	"context"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Process is one running program. Its methods may be called from any goroutine.
type Process struct {
	cmd *exec.Cmd
	pid int

	mu     sync.Mutex
	reaped bool

	done    chan struct{}
	outcome error // valid after done
}

// Start starts a command. Its streams are files of the caller's, or nil. The
// command itself is not changed and may be started again. A binary that was
// written a moment ago may still be open for writing in a process forked since;
// ctx bounds how long that is tried again, and nothing else. Errors say what usually is
// behind them, such as a script without its interpreter.
//
// A goroutine lives as long as the process, with a thread of its own: the thread
// that started a process must, for its death to mean the host's.
func Start(ctx context.Context, cmd *exec.Cmd) (*Process, error) {
	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.start(ctx, cmd)
		started <- err
		if err == nil {
			p.awaitExit()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Process) start(ctx context.Context, command *exec.Cmd) error {
	const attempts = 20
	for i := 1; ; i++ {
		cmd := copyCommand(command) // a command starts only once
		if err := prepare(cmd); err != nil {
			return err
		}
		err := withRelaxedTimerSlack(cmd.Start)
		if err == nil {
			p.cmd, p.pid = cmd, cmd.Process.Pid
			return nil
		}
		if !IsTextBusy(err) || i == attempts {
			return explainStart(cmd, err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(i) * time.Millisecond):
		}
	}
}

// copyCommand returns a command that has not been started.
func copyCommand(c *exec.Cmd) *exec.Cmd {
	return &exec.Cmd{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
	}
}

// awaitExit waits for the end of the process, kills the rest of its group and
// records the outcome.
func (p *Process) awaitExit() {
	waitExit(p.cmd.Process)
	p.mu.Lock()
	killGroup(p.pid) // before reaping, while the number cannot be another's
	p.outcome = explainEnd(p.cmd, p.cmd.Wait())
	p.reaped = true
	p.mu.Unlock()
	close(p.done)
}

// Kill ends the process and its group. It does nothing once they are gone.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		killGroup(p.pid)
		_ = p.cmd.Process.Kill() // fails only if the process is already gone
	}
}

// Terminate asks the process and its group to end, by SIGTERM. It does nothing
// once they are gone.
func (p *Process) Terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		terminateGroup(p.pid)
	}
}

// Done is closed once the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Outcome waits for the end of the process. It is nil for exit status 0.
func (p *Process) Outcome() error {
	<-p.done
	return p.outcome
}

// PID is the number of the process, and of its group.
func (p *Process) PID() int { return p.pid }
