package launch

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// request is what the caller asks of a supervisor. Words are bytes: gob keeps them as
// they are.
type request struct {
	Argv, Env     []string
	Dir           string
	Terminal      bool
	WithoutCgroup bool
}

// order is what the caller asks of a supervisor afterwards.
type order int

const (
	interrupt order = iota + 1
	kill
)

// report is what a supervisor says: first Started or Error, at the end Exit or Error.
type report struct {
	Started int
	Cgroup  string // the directory of the control group, if the command has one
	Exit    *execution.Exit
	Error   string
}

// start starts a supervisor and has it start the command.
func (l *launcher) start(ctx context.Context, c execution.Command) (execution.Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s, err := openStreams(c.Terminal)
	if err != nil {
		return nil, fmt.Errorf("open the streams of the command: %w", err)
	}
	p := &process{
		terminal: c.Terminal != nil, input: s.input, output: s.output,
		ended: make(chan struct{}), left: maxDrained,
	}
	err = p.startSupervisor(s)
	if err == nil {
		err = p.startCommand(ctx, request{
			Argv: c.Argv, Env: c.Env, Dir: c.Dir, Terminal: p.terminal, WithoutCgroup: l.withoutCgroup,
		})
	}
	if err != nil {
		p.abandon()
		return nil, err
	}
	go p.awaitEnd()
	return p, nil
}

// streams are both ends of the streams of a command: a pair of pipes, or a terminal.
type streams struct {
	input, output             *os.File // the caller's; on a terminal the same
	commandInput, commandSide *os.File // the command's
}

func openStreams(terminal *execution.Size) (*streams, error) {
	if terminal != nil {
		master, tty, err := openTerminal()
		if err != nil {
			return nil, err
		}
		s := &streams{input: master, output: master, commandInput: tty, commandSide: tty}
		if err := resize(master, *terminal); err != nil {
			s.close()
			return nil, err
		}
		return s, nil
	}
	commandInput, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	output, commandOutput, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, input.Close(), commandInput.Close())
	}
	return &streams{input: input, output: output, commandInput: commandInput, commandSide: commandOutput}, nil
}

func (s *streams) close() {
	closeAll(s.input, s.output)
	s.closeCommandSide()
}

func (s *streams) closeCommandSide() { closeAll(s.commandInput, s.commandSide) }

// closeAll closes files; one may be there twice. To close a pipe, a socket or a
// terminal loses nothing, so that its failure is of no interest.
func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// openTerminal opens a terminal, so that reads and writes of the caller's side can have a
// deadline: the library leaves it in blocking mode.
func openTerminal() (master, tty *os.File, err error) {
	blocking, tty, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(blocking)
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		closeAll(tty)
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), blocking.Name()), tty, nil
}

func resize(terminal *os.File, s execution.Size) error {
	raw, err := terminal.SyscallConn()
	if err != nil {
		return err
	}
	var resizeErr error
	err = raw.Control(func(fd uintptr) {
		resizeErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: s.Columns, Row: s.Rows})
	})
	return errors.Join(err, resizeErr)
}

// startSupervisor starts a supervisor that waits for a request.
func (p *process) startSupervisor(s *streams) error {
	defer s.closeCommandSide()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a socket for the supervisor: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control of the caller")
	defer closeAll(theirs)
	if err := unix.SetNonblock(pair[0], true); err != nil { // so that it can have a deadline
		return errors.Join(err, unix.Close(pair[0]))
	}
	p.control = os.NewFile(uintptr(pair[0]), "control of a supervisor")
	p.orders, p.reports = gob.NewEncoder(p.control), gob.NewDecoder(p.control)
	cmd := &exec.Cmd{
		Path:        "/proc/self/exe", // this executable, even if its file was replaced
		Args:        []string{supervisorName},
		Env:         []string{},
		Dir:         "/",
		ExtraFiles:  []*os.File{theirs, s.commandInput, s.commandSide},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the supervisor of the command: %w", err)
	}
	p.supervisor = cmd
	return nil
}

// startCommand has the supervisor start the command, unless ctx ends before.
func (p *process) startCommand(ctx context.Context, r request) error {
	release := context.AfterFunc(ctx, func() { _ = p.control.SetDeadline(time.Unix(1, 0)) }) // fails only when closed
	var started report
	err := p.orders.Encode(r)
	if err == nil {
		err = p.reports.Decode(&started)
	}
	switch {
	case !release():
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the supervisor has ended before it started the command: %w", err)
	case started.Error != "":
		return errors.New(started.Error)
	}
	p.pid, p.cgroup = started.Started, started.Cgroup
	return nil
}
