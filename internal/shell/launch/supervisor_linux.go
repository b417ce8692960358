package launch

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// The descriptors that a supervisor inherits.
const (
	controlFD = 3 + iota
	inputFD
	outputFD
)

// Main is the supervisor of a command if this program was started as one, and does not
// return then.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == supervisorName {
		os.Exit(supervise())
	}
	mainCalled.Store(true)
}

// supervise starts the command that it is asked for, waits for its end or for an order,
// ends what is left, and reports.
func supervise() int {
	runtime.LockOSThread() // the command ends with the thread that starts it
	if err := becomeSupervisor(); err != nil {
		fmt.Fprintln(os.Stderr, supervisorName+":", err)
		return 1
	}
	control := os.NewFile(controlFD, "control")
	requests, reports := gob.NewDecoder(control), gob.NewEncoder(control)
	var r request
	if requests.Decode(&r) != nil {
		return 0 // the caller is gone
	}
	t, err := startTree(r)
	if err != nil {
		_ = reports.Encode(report{Error: err.Error()}) // fails only if the caller is gone
		return 0
	}
	killed := make(chan struct{})
	go obey(requests, t, killed)
	// That the caller is gone shows in requests.
	_ = reports.Encode(report{Started: t.first, Cgroup: t.cgroup.dir})
	select {
	case <-t.firstEnded:
	case <-killed:
	}
	t.end()
	_ = reports.Encode(t.report())
	return 0
}

// obey carries out orders until the caller is gone or asks for the end.
func obey(requests *gob.Decoder, t *tree, killed chan<- struct{}) {
	defer close(killed)
	for {
		var o order
		if requests.Decode(&o) != nil || o == kill {
			return
		}
		if o == interrupt {
			t.signalAll(unix.SIGTERM)
			t.signalAll(unix.SIGCONT) // one that is stopped would not see it
		}
	}
}

// becomeSupervisor makes this process the parent of orphans below it, lets no signal
// end it that can be caught, and keeps its descriptors out of the command.
func becomeSupervisor() error {
	// Caught and dropped: what is ignored would be ignored by the command as well.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGUSR1, unix.SIGUSR2)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	// The command is of the same user: it must not look into this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("refuse to be traced: %w", err)
	}
	for _, fd := range []int{controlFD, inputFD, outputFD} {
		unix.CloseOnExec(fd)
	}
	return closeOthers(outputFD + 1)
}

// closeOthers keeps the descriptors from first on out of the command: those that the
// caller has inherited without the close-on-exec flag.
func closeOthers(first uint) error {
	err := unix.CloseRange(first, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("keep descriptors out of the command (this needs Linux 5.11): %w", err)
	}
	return nil
}

// startCommand starts the command in a session of its own.
func startCommand(r request, input, output *os.File, cgroupFD int) (int, error) {
	if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("the working directory %q is not a directory that can be used: give another as workdir", r.Dir)
	}
	// The first process dies with the supervisor even when nothing else is there to end it.
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: r.Terminal, Ctty: 0, Pdeathsig: syscall.SIGKILL}
	if cgroupFD >= 0 {
		attr.UseCgroupFD, attr.CgroupFD = true, cgroupFD
	}
	env := r.Env
	if env == nil {
		env = []string{} // nil would stand for the supervisor's
	}
	p, err := os.StartProcess(r.Argv[0], r.Argv, &os.ProcAttr{
		Dir: r.Dir, Env: env, Files: []*os.File{input, output, output}, Sys: attr,
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", r.Argv[0], unwrapPath(err))
	}
	pid := p.Pid // Release forgets it
	return pid, p.Release()
}

// unwrapPath takes away the name of the system call and the path.
func unwrapPath(err error) error {
	if e := new(os.PathError); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// exitOf says how the first process ended.
func exitOf(s unix.WaitStatus) *execution.Exit {
	if !s.Signaled() {
		return &execution.Exit{Code: s.ExitStatus()}
	}
	name := unix.SignalName(s.Signal())
	if name == "" { // a real-time signal
		name = fmt.Sprintf("signal %d", s.Signal())
	}
	return &execution.Exit{Code: -1, Signal: name}
}
