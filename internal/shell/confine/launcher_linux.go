package confine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// startTimeout bounds a start for callers that do not.
const startTimeout = 30 * time.Second

// Launcher starts commands in a sandbox.
type Launcher struct {
	options Options
	plan    plan
	// owners are the user namespaces of the writable mounts, by path. Only root has any.
	owners map[string]*os.File
}

// New checks the options against the machine. Close the Launcher when no command runs
// any more.
func New(o Options) (*Launcher, error) {
	if o.MemoryBytes <= 0 || o.Processes <= 0 || o.FileBytes <= 0 {
		return nil, errors.New("the sandbox needs bounds for memory, processes and files that are more than 0")
	}
	p, err := planFor(o)
	if err != nil {
		return nil, err
	}
	l := &Launcher{options: o, plan: p, owners: map[string]*os.File{}}
	if os.Geteuid() == 0 {
		if err := l.findOwners(); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// findOwners makes a user namespace for each writable mount.
func (l *Launcher) findOwners() error {
	for _, m := range l.plan.Mounts {
		if !m.Write || m.Pin {
			continue
		}
		info, err := os.Lstat(m.Path)
		if err != nil {
			return err
		}
		who := info.Sys().(*syscall.Stat_t)
		ns, err := owners(who.Uid, who.Gid)
		if err != nil {
			return err
		}
		l.owners[m.Path] = ns
	}
	return nil
}

// Close gives up what the Launcher holds. Running commands continue.
func (l *Launcher) Close() error {
	var err error
	for _, ns := range l.owners {
		err = errors.Join(err, ns.Close())
	}
	l.owners = nil
	return err
}

// Report makes a sandbox without a command and tells which layers it has.
func (l *Launcher) Report(ctx context.Context) (Report, error) {
	s, err := l.open(ctx, order{})
	if err != nil {
		return Report{}, err
	}
	s.end()
	return s.report, nil
}

// Start starts a command.
func (l *Launcher) Start(ctx context.Context, c execution.Command) (execution.Process, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("a command without a program")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s, err := l.open(ctx, order{Command: commandOf(c), Proxy: c.Network && l.options.Proxy != nil})
	if err != nil {
		return nil, err
	}
	if err := s.ask(requestGo); err != nil {
		s.end()
		return nil, err
	}
	n, _, err := s.receive()
	if err == nil && !n.Started {
		err = errors.New(cmp.Or(n.Error, "the sandbox did not start the command"))
	}
	if err = s.inTime(ctx, err); err != nil {
		s.end()
		return nil, err
	}
	return s.run(l.options.Proxy), nil
}

// open starts an init and lets it make the sandbox.
func (l *Launcher) open(ctx context.Context, o order) (*sandbox, error) {
	var err error
	if o.Plan, err = l.plan.now(); err != nil {
		return nil, err
	}
	o.Given = os.Geteuid() == 0
	o.Limits = limits{Memory: uint64(l.options.MemoryBytes), Processes: uint64(l.options.Processes), File: uint64(l.options.FileBytes)}
	s, err := l.spawn(o)
	if err != nil {
		return nil, err
	}
	if err := l.prepare(ctx, s, o); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// prepare waits until the sandbox is ready and looks at what it has.
func (l *Launcher) prepare(ctx context.Context, s *sandbox, o order) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := s.tell(o); err != nil {
		return s.inTime(ctx, err)
	}
	n, files, err := s.receive()
	if err != nil {
		return s.inTime(ctx, err)
	}
	if n.Error != "" {
		closeAll(files)
		return errors.New(n.Error)
	}
	if err := s.take(o, files); err != nil {
		return err
	}
	if s.report, err = newReport(n.Ready, l.options.Required); err != nil {
		return err
	}
	return verify(s.cmd.Process.Pid)
}

// spawn starts the init in namespaces of its own.
func (l *Launcher) spawn(o order) (*sandbox, error) {
	conn, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	s := &sandbox{conn: conn, done: make(chan struct{})}
	given := []*os.File{theirs}
	defer func() { closeAll(given) }()
	fail := func(err error) (*sandbox, error) {
		closeAll([]*os.File{s.in, s.out})
		return nil, errors.Join(err, conn.Close())
	}
	if o.Command.Terminal == nil {
		in, inEnd, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		s.in, given = inEnd, append(given, in)
		outEnd, out, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		s.out, given = outEnd, append(given, out)
	}
	if o.Given {
		trees, err := l.openTrees()
		given = append(given, trees...)
		if err != nil {
			return fail(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{initName}
	cmd.Env = []string{"GOMAXPROCS=1"}
	cmd.ExtraFiles = given
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return fail(fmt.Errorf("start the sandbox: %w", err))
	}
	s.cmd = cmd
	return s, nil
}

func (l *Launcher) openTrees() ([]*os.File, error) {
	var trees []*os.File
	for _, m := range l.plan.Mounts {
		tree, err := m.openTree(l.ownersOf(m))
		if errors.Is(err, unix.EINVAL) && m.Write {
			err = fmt.Errorf("files in %s would not keep their owner, because its file system does not support mounts with other owners: use a directory of another file system, or run as an ordinary user: %w", m.Path, err)
		}
		if err != nil {
			return trees, err
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

func (l *Launcher) ownersOf(m mount) *os.File {
	for path, ns := range l.owners {
		if m.Write && within(m.Path, path) {
			return ns
		}
	}
	return nil
}

// attributes are how an init is started.
func attributes() *syscall.SysProcAttr {
	root := os.Geteuid() == 0
	uid, gid := os.Geteuid(), os.Getegid()
	if root {
		uid, gid = machineUser, machineUser
	}
	return &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: sandboxUser, HostID: uid, Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: sandboxUser, HostID: gid, Size: 1}},
		GidMappingsEnableSetgroups: root,
		Credential:                 &syscall.Credential{Uid: sandboxUser, Gid: sandboxUser, NoSetGroups: !root},
		// With these the init makes its root and starts its loopback.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN},
	}
}

// socketpair makes the connection of launcher and init. A packet is a message.
func socketpair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "sandbox"), os.NewFile(uintptr(fds[1]), "sandbox")
	defer ours.Close() //nolint:errcheck // conn has a copy
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil
}

// tell sends a message to the init.
func (s *sandbox) tell(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > maxMessage {
		return fmt.Errorf("the command and its environment have %d bytes, more than %d", len(b), maxMessage)
	}
	_, err = s.conn.Write(b)
	return err
}

func (s *sandbox) ask(r request) error { return s.tell(r) }

// receive reads a message of the init and the descriptors that came with it.
func (s *sandbox) receive() (notice, []*os.File, error) {
	b, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*4))
	n, rn, flags, _, err := s.conn.ReadMsgUnix(b, rights)
	if err != nil {
		return notice{}, nil, err
	}
	files, err := filesOf(rights[:rn])
	switch {
	case err != nil:
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = errors.New("a message of the sandbox is too long")
	case n == 0:
		err = io.EOF
	}
	var got notice
	if err == nil {
		err = json.Unmarshal(b[:n], &got)
	}
	if err != nil {
		closeAll(files)
		return notice{}, nil, err
	}
	return got, files, nil
}

// filesOf takes the descriptors out of a control message.
func filesOf(rights []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // something else than descriptors
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			_ = unix.SetNonblock(fd, true) // else reads of it would not end when it is closed
			files = append(files, os.NewFile(uintptr(fd), "sandbox"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // it held nothing of use
		}
	}
}
