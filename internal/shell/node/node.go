package node

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/machine"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// Node is another machine. Its methods may be called from any goroutine.
type Node struct {
	name, address string
	command       []string // what starts a worker there
	env           []string
}

// WorkerCommand is the command of Quoin that is a [Worker].
const WorkerCommand = "shell-worker"

// options of ssh: no terminal, no agent and no display for the node, nothing that asks. Who
// does not answer is gone in time, and no other connection depends on one of ours.
var options = []string{
	"-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-o", "ControlMaster=no",
	"-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
}

// New returns a node of the configuration. It connects when it is asked something.
func New(s *settings.Settings, name string) (*Node, error) {
	address, err := s.NodeAddress(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for _, dir := range s.Path {
		if ssh, err := exec.LookPath(filepath.Join(dir, "ssh")); err == nil {
			return &Node{
				name: name, address: address,
				command: append(append([]string{ssh}, options...), "--", address, "quoin", WorkerCommand),
				env:     machine.Environment(s, machine.Place{Host: settings.Gateway, Dir: "/", Shell: "/bin/sh"}, nil),
			}, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no ssh here: install OpenSSH's client, or add its directory to plugins.shell.path", ErrUnavailable)
}

// ErrUnavailable wraps why a node cannot be asked.
var ErrUnavailable = errors.New("not available")

// judgeTime bounds what is asked of a node before its answer.
const judgeTime = 30 * time.Second

// Judge asks the node what it would do with a job.
func (n *Node) Judge(ctx context.Context, j Job) (*Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	l, first, err := n.ask(ctx, request{Job: j})
	if err != nil {
		return nil, err
	}
	l.close()
	v := first.Verdict
	if v == nil {
		return nil, n.failed(errProtocol)
	}
	// A policy that is not known here is the strictest.
	switch v.Security {
	case settings.Allowlist, settings.Full:
	default:
		v.Security, v.Refused = settings.Deny, true
	}
	switch v.Ask {
	case settings.AskOff, settings.AskOnMiss:
	default:
		v.Ask = settings.AskAlways
	}
	return v, nil
}

// Launcher runs the job of a node in the place of what the command says: only the
// terminal and the network of the command count.
func (n *Node) Launcher(j Job) execution.Launcher { return launcher{n, j} }

type launcher struct {
	node *Node
	job  Job
}

// Start runs the job.
func (l launcher) Start(ctx context.Context, c execution.Command) (execution.Process, error) {
	link, first, err := l.node.ask(ctx, request{Job: l.job, Run: true, Terminal: c.Terminal, Network: c.Network})
	if err != nil {
		return nil, err
	}
	if first.Started == 0 {
		link.close()
		return nil, l.node.failed(errProtocol)
	}
	return newProcess(link, first.Started, c.Terminal != nil)
}

// ask connects, sends a request and returns what the worker says to it first. ctx bounds that.
func (n *Node) ask(ctx context.Context, r request) (*link, *report, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	l, err := n.connect()
	if err != nil {
		return nil, nil, n.failed(err)
	}
	stop := context.AfterFunc(ctx, l.cancel)
	var greeting, first report
	err = l.receive(&greeting)
	if err == nil {
		err = greeted(greeting.Hello)
	}
	if err == nil {
		err = l.send(r)
	}
	if err == nil {
		err = l.receive(&first)
	}
	if err == nil && first.Failure != nil {
		err = first.Failure.error()
	}
	if stop() && err == nil {
		return l, &first, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		l.close()
		return nil, nil, n.failed(cause)
	}
	if isEnd(err) {
		return nil, nil, n.failed(l.end())
	}
	l.close()
	return nil, nil, n.failed(err)
}

// failed is an error with the name of the node.
func (n *Node) failed(err error) error {
	if errors.Is(err, errProtocol) {
		err = fmt.Errorf("%w: %w: what the login shell there runs for commands must print nothing", ErrUnavailable, err)
	}
	return fmt.Errorf("node %s: %w", n.name, err)
}

// link is a connection to a worker: the ssh that has started it.
type link struct {
	*stream
	node   *Node
	cmd    *exec.Cmd
	cancel context.CancelFunc      // ends ssh
	words  childprocess.OutputTail // of the standard error of ssh and of the node; valid once ssh has ended
}

// endTime is how long ssh has to end by itself.
const endTime = 2 * time.Second

func (n *Node) connect() (*link, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &link{node: n, cancel: cancel, cmd: exec.CommandContext(ctx, n.command[0], n.command[1:]...)}
	l.cmd.Env, l.cmd.Dir, l.cmd.WaitDelay = n.env, "/", endTime
	l.cmd.Cancel = func() error { return l.cmd.Process.Signal(syscall.SIGTERM) } // it takes its own helpers along
	l.cmd.Stderr = &childprocess.LineWriter{Each: func(line []byte, _ bool) { l.words.Add(line) }}
	in, err := l.cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	l.stream = newStream(out, in)
	return l, nil
}

// close ends the connection.
func (l *link) close() {
	l.cancel()
	_ = l.cmd.Wait() // it was asked to end
}

// end waits until ssh has ended by itself, but not for long, and says why it has.
func (l *link) end() error {
	defer l.cancel()
	defer time.AfterFunc(endTime, l.cancel).Stop()
	_ = l.cmd.Wait() // the state says how
	return l.whyEnded(l.cmd.ProcessState.ExitCode())
}
