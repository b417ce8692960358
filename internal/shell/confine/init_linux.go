package confine

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// initName is the name under which the executable serves as an init.
const initName = "quoin-shell-init"

// proxyAddress is where a command finds the proxy.
const proxyAddress = "127.0.0.1:3128"

// The descriptors of an init, after the standard ones.
const (
	linkFD   = 3
	inputFD  = 4 // not with a terminal
	outputFD = 5
)

// Main turns the process into a helper of a sandbox if it was started as one, and
// returns otherwise. It is the first thing in main of a program that uses a Launcher.
func Main() {
	if len(os.Args) != 1 {
		return
	}
	switch os.Args[0] {
	case initName:
		runtime.LockOSThread()
		beInit()
	case holderName:
		holdOwners()
	}
}

// beInit makes the sandbox and runs the command in it.
func beInit() {
	l := link(linkFD)
	// A command may signal its init. It cannot kill or stop it, and what has a handler
	// here is dropped. Ignored signals the command would inherit.
	signal.Notify(make(chan os.Signal, 1))
	// Nothing that the launcher has open is for the command.
	if err := unix.CloseRange(linkFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		giveUp(l, os.NewSyscallError("close_range", err))
	}
	var o order
	if err := l.receive(&o); err != nil {
		giveUp(l, err)
	}
	if err := serve(l, o); err != nil {
		giveUp(l, err)
	}
	os.Exit(0)
}

// giveUp tells why and ends. Without a launcher it is told to no one.
func giveUp(l link, err error) {
	if !errors.Is(err, io.EOF) {
		_ = l.send(notice{Error: err.Error()})
	}
	os.Exit(1)
}

func serve(l link, o order) error {
	// When memory runs out the kernel looks at the processes of sandboxes first.
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0); err != nil {
		return err
	}
	trees := treesGiven(o)
	proc, err := makeRoot(o.Plan, trees)
	if err != nil {
		return fmt.Errorf("make the root of the sandbox: %w", err)
	}
	if err := startLoopback(); err != nil {
		return fmt.Errorf("start the loopback of the sandbox: %w", err)
	}
	streams, made, err := openStreams(o)
	if err != nil {
		return err
	}
	layers := seal(o, proc)
	if err := l.send(notice{Ready: layers}, made...); err != nil {
		return err
	}
	closeAll(made)
	var r request
	if err := l.receive(&r); err != nil {
		return err
	}
	return runCommand(l, o, streams)
}

// treesGiven are the mounts that the launcher has opened: all, or the mounts of the
// plan must be opened here.
func treesGiven(o order) []*os.File {
	if !o.Given {
		return nil
	}
	next := linkFD + 1
	if o.Command.Terminal == nil {
		next = outputFD + 1
	}
	var trees []*os.File
	for i := range o.Plan.Mounts {
		trees = append(trees, os.NewFile(uintptr(next+i), o.Plan.Mounts[i].Path))
	}
	return trees
}

// openStreams opens what the command reads and writes, and what the launcher gets of it.
func openStreams(o order) (streams, made []*os.File, err error) {
	if size := o.Command.Terminal; size == nil {
		in, out := os.NewFile(inputFD, "input"), os.NewFile(outputFD, "output")
		streams = []*os.File{in, out, out}
	} else {
		master, slave, err := pty.Open()
		if err != nil {
			return nil, nil, fmt.Errorf("make a terminal: %w", err)
		}
		if err := setSize(int(slave.Fd()), *size); err != nil {
			return nil, nil, fmt.Errorf("make a terminal: %w", err)
		}
		streams, made = []*os.File{slave, slave, slave}, append(made, master)
	}
	if o.Proxy {
		listener, err := net.Listen("tcp4", proxyAddress)
		if err != nil {
			return nil, nil, err
		}
		f, err := listener.(*net.TCPListener).File()
		if err != nil {
			return nil, nil, err
		}
		_ = listener.Close() // f is a copy
		made = append(made, f)
	}
	return streams, made, nil
}

// runCommand starts the command and reaps until it has ended. The processes that are
// left then end with the init.
func runCommand(l link, o order, streams []*os.File) error {
	fds := make([]uintptr, len(streams))
	for i, f := range streams {
		fds[i] = f.Fd()
	}
	argv, dir := textsOf(o.Command.Argv), string(o.Command.Dir)
	if err := checkDirectory(dir); err != nil {
		return err
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir: dir, Env: environment(o), Files: fds,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: o.Command.Terminal != nil},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	closeAll(slices.Compact(streams)) // the command alone has them open
	if err := l.send(notice{Started: true}); err != nil {
		return err
	}
	go obey(l)
	for {
		var status unix.WaitStatus
		reaped, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case reaped == pid && status.Signaled():
			return l.send(notice{Exit: &exit{Signal: int(status.Signal())}})
		case reaped == pid:
			return l.send(notice{Exit: &exit{Code: status.ExitStatus()}})
		}
	}
}

// checkDirectory says which directory is not there, which the start of a command does
// not tell from the program.
func checkDirectory(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	if err != nil {
		return fmt.Errorf("the working directory in the sandbox: %w", err)
	}
	return nil
}

// obey does what the launcher says, and ends with it.
func obey(l link) {
	for {
		var r request
		if err := l.receive(&r); err != nil {
			os.Exit(1)
		}
		if r == requestTerminate {
			_ = unix.Kill(-1, unix.SIGTERM) // it fails if no process is left
		}
	}
}

// environment returns the environment of the command, with what the sandbox decides.
func environment(o order) []string {
	own := map[string]string{"HOME": home, "USER": userName, "LOGNAME": userName, "TMPDIR": "/tmp"}
	if o.Proxy {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			own[name], own[strings.ToLower(name)] = "http://"+proxyAddress, "http://"+proxyAddress
		}
		own["NO_PROXY"], own["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
	}
	env := slices.DeleteFunc(textsOf(o.Command.Env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, ours := own[name]
		return ours
	})
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// startLoopback brings the loopback of the net namespace up.
func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
