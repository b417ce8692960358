package confine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
	"github.com/quoinhq/quoin/internal/shell/execution"
)

// sandbox is one, with the command in it. It is an execution.Process.
type sandbox struct {
	cmd      *exec.Cmd
	conn     *net.UnixConn
	report   Report
	in, out  *os.File // the same one if there is a terminal
	terminal bool
	listener net.Listener // of the proxy

	done chan struct{} // closed when every process is gone
	exit execution.Exit
	err  error
}

// take keeps the descriptors that the init made.
func (s *sandbox) take(o order, files []*os.File) error {
	want := 0
	if o.Proxy {
		want++
	}
	if o.Command.Terminal != nil {
		want++
	}
	if len(files) != want {
		closeAll(files)
		return fmt.Errorf("the sandbox sent %d descriptors instead of %d", len(files), want)
	}
	if o.Command.Terminal != nil {
		s.in, s.out, s.terminal = files[0], files[0], true
		files = files[1:]
	}
	if o.Proxy {
		var err error
		s.listener, err = net.FileListener(files[0])
		closeAll(files)
		return err
	}
	return nil
}

// end ends a sandbox before its command has started.
func (s *sandbox) end() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // it was killed
	s.release()
}

func (s *sandbox) release() {
	_ = s.conn.Close()
	closeAll([]*os.File{s.in, s.out})
	if s.listener != nil {
		_ = s.listener.Close()
	}
}

// inTime explains an error by the end of the time, if that was the reason, and the end
// of the init as what it is.
func (*sandbox) inTime(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the sandbox was not ready in time: %w", ctx.Err())
	case errors.Is(err, io.EOF):
		return errors.New("the sandbox ended before the command started")
	default:
		return err
	}
}

// run makes a process of a sandbox when its command has started.
func (s *sandbox) run(proxy func(net.Listener) error) *sandbox {
	if s.listener != nil {
		go func() { _ = proxy(s.listener) }() // it ends when the listener is closed
	}
	go s.watch()
	return s
}

// watch waits for the end.
func (s *sandbox) watch() {
	var told *exit
	for {
		n, files, err := s.receive()
		closeAll(files)
		if err != nil {
			break // the init has ended, or has been taken over, which ends it, too
		}
		if n.Exit != nil {
			told = n.Exit
			break
		}
	}
	if told == nil {
		_ = s.cmd.Process.Kill() // it may have ended
	}
	// The init ends once it has told the end of the command, and it ends only when
	// every process of its namespace is gone.
	err := s.cmd.Wait()
	s.exit, s.err = s.outcome(told, err)
	_ = s.conn.Close()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	if !s.terminal {
		_ = s.in.Close()
	}
	close(s.done)
}

// outcome says how the command has ended, by what the init told, if anything, and by
// how the init itself has ended.
func (s *sandbox) outcome(told *exit, waited error) (execution.Exit, error) {
	if told != nil && told.Signal == 0 {
		return execution.Exit{Code: told.Code & 0xff}, nil
	}
	if told != nil {
		name := unix.SignalName(syscall.Signal(told.Signal))
		return execution.Exit{Code: -1, Signal: cmp.Or(name, fmt.Sprintf("signal %d", told.Signal))}, nil
	}
	var status *exec.ExitError
	if errors.As(waited, &status) {
		if ws, ok := status.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == unix.SIGKILL {
			return execution.Exit{Code: -1, Signal: "SIGKILL"}, nil
		}
	}
	return execution.Exit{}, errors.New("the sandbox has ended and did not tell how the command has ended")
}

// PID returns the number of the sandbox's init, with which everything in it ends.
func (s *sandbox) PID() int { return s.cmd.Process.Pid }

func (s *sandbox) Read(b []byte) (int, error) {
	n, err := s.out.Read(b)
	switch {
	case err == nil:
		return n, nil
	// A terminal without processes fails so.
	case errors.Is(err, unix.EIO), errors.Is(err, io.EOF):
		_ = s.out.Close()
		return n, io.EOF
	case errors.Is(err, os.ErrClosed):
		return n, io.EOF
	default:
		return n, err
	}
}

func (s *sandbox) Write(b []byte) (int, error) { return s.in.Write(b) }

// CloseInput ends the standard input.
func (s *sandbox) CloseInput() error {
	if s.terminal {
		const endOfTransmission = 4
		_, err := s.in.Write([]byte{endOfTransmission})
		return err
	}
	if err := s.in.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil // the process has ended, and its input with it
}

// Resize changes the size of the terminal.
func (s *sandbox) Resize(size execution.Size) error {
	if !s.terminal {
		return errors.New("the process has no terminal")
	}
	raw, err := s.in.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = setSize(int(fd), size) })
	return errors.Join(err, failed)
}

func setSize(fd int, size execution.Size) error {
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
}

// Interrupt asks every process of the sandbox to end.
func (s *sandbox) Interrupt() {
	_ = s.ask(requestTerminate) // it fails if the sandbox has ended
}

// Kill ends every process of the sandbox.
func (s *sandbox) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.done
	_ = s.out.Close() // what is left to read has no reader
}

// Wait waits for the end of the command, with which every other process ends.
func (s *sandbox) Wait() (execution.Exit, error) {
	<-s.done
	return s.exit, s.err
}

// verify compares what an init must have done with what the kernel says about it.
func verify(pid int) error {
	status, err := lockdown.Status(pid)
	if err != nil {
		return err
	}
	caps := status["CapEff"] + status["CapPrm"] + status["CapInh"] + status["CapAmb"]
	facts := []struct {
		layer string
		holds bool
	}{
		{LayerUser, !slices.Contains(strings.Fields(status["Uid"]), "0")},
		{LayerNamespaces, len(strings.Fields(status["NSpid"])) > 1},
		{LayerCapabilities, strings.Trim(caps, "0") == ""},
		{LayerPrivileges, status["NoNewPrivs"] == "1"},
		{LayerSeccomp, status["Seccomp"] == "2"},
	}
	for _, f := range facts {
		if !f.holds {
			return fmt.Errorf("the sandbox claims the layer %s, the kernel knows nothing of it", f.layer)
		}
	}
	return nil
}
