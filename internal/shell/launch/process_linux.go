package launch

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// maxDrained bounds what is read after the end: more than a pipe or a terminal holds. A
// process outside the tree that was given the stream could write on.
const maxDrained = 1 << 20

// ctrlD is what a person types on a terminal to end the input.
const ctrlD = 0x04

// process is a command that runs below a supervisor.
type process struct {
	pid        int
	cgroup     string
	terminal   bool
	input      *os.File
	output     *os.File
	supervisor *exec.Cmd

	control *os.File
	reports *gob.Decoder
	mu      sync.Mutex // held while an order is sent
	orders  *gob.Encoder

	ended chan struct{} // closed once nothing is left of the tree
	exit  execution.Exit
	err   error // both valid after ended

	draining bool // of the reader alone, like left
	left     int
}

func (p *process) PID() int { return p.pid }

// awaitEnd waits for the report of the end, and wakes who reads or writes.
func (p *process) awaitEnd() {
	var end report
	err := p.reports.Decode(&end)
	if err == nil && end.Exit == nil {
		err = errors.New(end.Error)
	}
	if err == nil {
		p.exit = *end.Exit
	} else {
		p.err = fmt.Errorf("how process %d has ended is not known: %w", p.pid, err)
	}
	p.reapSupervisor(err)
	past := time.Unix(1, 0)
	_ = p.output.SetReadDeadline(past) // these fail only when closed
	_ = p.input.SetWriteDeadline(past)
	close(p.ended)
}

// reapSupervisor ends the supervisor, and what one that was killed has left.
func (p *process) reapSupervisor(lost error) {
	if lost != nil {
		_ = p.supervisor.Process.Kill() // fails only if it is gone
	}
	_ = p.supervisor.Wait() // says how it ended, which tells nothing more
	if lost != nil {
		endOrphans(p.pid, p.cgroup)
	}
}

// Read reads the output. The supervisor holds the stream open, so that it ends when the
// tree has: the deadline that is set then ends a Read that waits.
func (p *process) Read(b []byte) (int, error) {
	if !p.draining {
		n, err := p.output.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, io.EOF) && !errors.Is(err, unix.EIO) {
			return n, endOfFile(err)
		}
		<-p.ended // of a supervisor that was killed, the stream ends before
		p.draining = true
		if p.output.SetReadDeadline(time.Time{}) != nil {
			return 0, io.EOF // Wait has closed the stream
		}
	}
	return p.drain(b)
}

// drain reads what the stream has, without waiting for more.
func (p *process) drain(b []byte) (int, error) {
	b = b[:min(len(b), p.left)]
	raw, err := p.output.SyscallConn()
	if err != nil {
		return 0, endOfFile(err)
	}
	n, readErr := 0, error(unix.EINTR)
	err = raw.Read(func(fd uintptr) bool {
		for errors.Is(readErr, unix.EINTR) {
			n, readErr = unix.Read(int(fd), b)
		}
		return true
	})
	switch {
	case err != nil:
		return 0, io.EOF // Wait has closed the stream
	case readErr == nil && n > 0:
		p.left -= n
		return n, nil
	case readErr == nil, errors.Is(readErr, unix.EAGAIN), errors.Is(readErr, unix.EIO): // EIO is the end of a terminal
		return 0, io.EOF
	}
	return 0, readErr
}

// endOfFile makes a stream that Wait has closed one that has ended.
func endOfFile(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return io.EOF
	}
	return err
}

func (p *process) Write(b []byte) (int, error) {
	n, err := p.input.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("process %d has ended: %w", p.pid, io.ErrClosedPipe)
	}
	return n, err
}

func (p *process) CloseInput() error {
	if p.terminal {
		_, err := p.Write([]byte{ctrlD})
		return err
	}
	if err := p.input.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil // the process has ended, and its input with it
}

func (p *process) Resize(s execution.Size) error {
	if !p.terminal {
		return fmt.Errorf("process %d has no terminal", p.pid)
	}
	return resize(p.output, s)
}

func (p *process) Interrupt() { p.send(interrupt) }

func (p *process) Kill() {
	_ = p.supervisor.Process.Signal(unix.SIGCONT) // the command may have stopped it; fails only if it is gone
	p.send(kill)
	<-p.ended
}

// send sends an order. A supervisor that is gone has ended the tree, or awaitEnd does.
func (p *process) send(o order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.orders.Encode(o)
}

func (p *process) Wait() (execution.Exit, error) {
	<-p.ended
	p.closeStreams()
	return p.exit, p.err
}

func (p *process) closeStreams() { closeAll(p.input, p.output, p.control) }

// abandon undoes a start that has failed.
func (p *process) abandon() {
	p.closeStreams() // ends the supervisor, and what it has started
	if p.supervisor != nil {
		_ = p.supervisor.Wait() // says how it ended, which tells nothing more
	}
}
