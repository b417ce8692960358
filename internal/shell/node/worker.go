package node

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// Worker answers one gateway.
type Worker struct {
	// Settings are the policy of the node. Host says whether Launcher is a sandbox.
	Settings *settings.Settings
	// Launcher starts what may run.
	Launcher execution.Launcher
	// Workdir is the directory of commands that do not name one.
	Workdir string
	// Version is the version of Quoin.
	Version string
}

const (
	// maxSilence is how long a gateway may say nothing; it says something every heartbeat.
	maxSilence = 20 * time.Second
	heartbeat  = 5 * time.Second
	// lostGrace is how long a process has to end by itself when its gateway is gone.
	lostGrace = 2 * time.Second
)

// errGone is about a gateway that has gone before the worker was done.
var errGone = errors.New("the gateway is gone")

// Serve answers the gateway on the other end of in and out. When it returns, nothing is left of
// what it has started.
func (w *Worker) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	p, err := newPolicy(w.Settings, w.Workdir)
	if err != nil {
		return err
	}
	s := newStream(in, out)
	if err := s.send(report{Hello: &hello{Quoin: w.Version, Protocol: protocol}}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, orders := make(chan request), make(chan order)
	go receive(ctx, s, first, orders)
	var r request
	select {
	case got, ok := <-first:
		if !ok {
			return errGone
		}
		r = got
	case <-time.After(maxSilence):
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	running, err := w.start(ctx, p, s, &r)
	if err != nil {
		return s.send(report{Failure: failureOf(err)})
	}
	if running == nil {
		return nil
	}
	return running.serve(ctx, orders)
}

// receive hands on what the gateway says, until the stream ends or has what no gateway says.
func receive(ctx context.Context, s *stream, first chan<- request, orders chan<- order) {
	defer close(orders)
	defer close(first)
	var r request
	if s.receive(&r) != nil {
		return
	}
	select {
	case first <- r:
	case <-ctx.Done():
		return
	}
	for {
		var o order
		if s.receive(&o) != nil {
			return
		}
		select {
		case orders <- o:
		case <-ctx.Done():
			return
		}
	}
}

// start judges what the gateway asks. It answers with a verdict, or starts the command.
func (w *Worker) start(ctx context.Context, p *policy, s *stream, r *request) (*running, error) {
	if !r.Run {
		v, err := p.rule(&r.Job)
		if err != nil {
			return nil, err
		}
		return nil, s.send(report{Verdict: &v.Verdict})
	}
	d, err := p.decide(&r.Job)
	if err != nil {
		return nil, err
	}
	process, err := w.Launcher.Start(ctx, execution.Command{
		Argv: d.argv, Dir: d.dir, Env: p.environment(&r.Job, d.dir, r.Terminal != nil), Terminal: r.Terminal, Network: r.Network,
	})
	if err != nil {
		return nil, err
	}
	return &running{stream: s, process: process, writing: make(chan struct{}, 1), noInput: d.listed && r.Terminal != nil}, nil
}

// running is a process with the stream that it lives as long as.
type running struct {
	stream  *stream
	process execution.Process
	writing chan struct{} // full while a write is not answered
	answers sync.Mutex    // held from when writing is empty until the answer is sent
	noInput bool          // a pager, for one, would take commands that are not on the list
}

// serve passes the bytes on until nothing of the process is left.
func (r *running) serve(ctx context.Context, orders <-chan order) error {
	ended := make(chan error, 1)
	go func() { ended <- r.output() }()
	silence := time.NewTimer(maxSilence)
	defer silence.Stop()
	for here := true; here; {
		select {
		case err := <-ended:
			return err
		case o, ok := <-orders:
			silence.Reset(maxSilence)
			here = ok
			if ok && !r.obey(o) {
				r.process.Kill()
			}
		case <-silence.C:
			here = false
		case <-ctx.Done():
			here = false
		}
	}
	// Output may wait for a gateway that does not read.
	r.process.Interrupt()
	select {
	case <-ended:
	case <-time.After(lostGrace):
	}
	r.process.Kill()
	return errGone
}

// output sends what the process writes, and how it ends. It reads to the end even when no
// one takes it, so that the process can end.
func (r *running) output() error {
	sent := r.stream.send(report{Started: r.process.PID()})
	for buffer := make([]byte, maxWriteBytes); ; {
		n, err := r.process.Read(buffer)
		if n > 0 && sent == nil {
			sent = r.stream.send(report{Data: buffer[:n]})
		}
		if err != nil {
			break
		}
	}
	if sent == nil {
		sent = r.stream.send(report{EndOfOutput: true})
	}
	exit, err := r.process.Wait()
	r.lastAnswer()
	switch {
	case sent != nil:
		return sent
	case err != nil:
		return r.stream.send(report{Failure: failureOf(err)})
	}
	return r.stream.send(report{Exit: &exit})
}

// obey does one thing. It returns false if the process has to be killed: because the
// gateway says so, or because it breaks the rules.
func (r *running) obey(o order) bool {
	switch {
	case len(o.Write) > 0:
		select {
		case r.writing <- struct{}{}:
			go r.write(o.Write)
		default: // the one before is not answered
			return false
		}
	case o.CloseInput:
		_ = r.process.CloseInput() // fails when the process has ended, which the gateway is told
	case o.Resize != nil:
		_ = r.process.Resize(*o.Resize) // likewise, or it has no terminal, which the gateway knows
	case o.Interrupt:
		r.process.Interrupt()
	case o.Kill:
		return false
	}
	return true
}

// errNoInput is about input for a terminal that no person has approved.
var errNoInput = errors.New("the command has a terminal, and is allowed by the node's allow-list alone: it takes no input")

// write passes on what the gateway has for the standard input.
func (r *running) write(data []byte) {
	n, err := 0, errNoInput
	if !r.noInput {
		n, err = r.process.Write(data)
	}
	answer := &written{Bytes: n}
	if err != nil {
		answer.Error = message(err.Error())
	}
	r.answers.Lock()
	defer r.answers.Unlock()
	<-r.writing
	_ = r.stream.send(report{Written: answer}) // fails when the gateway is gone, which serve sees
}

// lastAnswer returns once the last write is answered. It lets no other write start: the process
// has ended.
func (r *running) lastAnswer() {
	r.writing <- struct{}{}
	r.answers.Lock()
	defer r.answers.Unlock()
}
