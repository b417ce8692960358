package guestrt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// process is one guest worker process and its connection. Calls are serialised
// by their caller; kill and ending may be used by anyone.
type process struct {
	os     *os.Process
	conn   *wire.Conn
	stream io.ReadWriteCloser
	log    *os.File
	group  *group // nil: it has no group of its own
	ready  *wire.Ready
	meter  meter
	late   lateAnswer

	atReady uint64 // its private memory in bytes when it got ready

	memory       atomic.Uint64 // what it was limited to for its last guest, in bytes; 0 before the first
	idle         atomic.Bool   // it waits for its session to come back
	usageWatched sync.Once     // watchUsage was started

	mu    sync.Mutex
	cause *WorkerError // why this side killed it; the first wins
	ended bool         // it has closed its log, so it is ending or gone

	talk chan struct{} // full while there is a conversation: one at a time
	gone chan struct{} // closed when the process is reaped
	exit *WorkerError  // set before gone is closed
}

// startProcess starts a process as l says and waits until it is sealed.
func startProcess(ctx context.Context, s *spawner, b *binary, l *launchConfig, logger *slog.Logger) (*process, error) {
	p := &process{gone: make(chan struct{}), talk: make(chan struct{}, 1)}
	var err error
	s.do(func() { err = p.startChild(b, l) })
	if err != nil {
		return nil, startFailed(b.path, err)
	}
	p.conn = wire.NewConn(wire.Worker, p.stream)
	var unmeasured error
	p.meter, unmeasured = newMeter(p.os.Pid)
	go p.watch(logger.With("worker", p.os.Pid))
	err = p.handshake(ctx, b, l)
	if err == nil && unmeasured != nil {
		err = unavailable("the guest worker cannot be measured: %v", unmeasured)
	}
	if err != nil {
		p.kill(aborted("the worker did not get ready"))
		<-p.gone
		return nil, err
	}
	p.atReady, _ = p.meter.memory() // one that fails now is not used twice
	return p, nil
}

// handshake says Hello and takes the worker's Ready.
func (p *process) handshake(ctx context.Context, b *binary, l *launchConfig) error {
	hello := &wire.Hello{Version: l.protocol, BuildID: b.id, Required: l.isolation.required()}
	m, end := p.exchange(ctx, hello, time.Now().Add(startTimeout), nil)
	if end != nil {
		if end.Code == wire.CodeAborted {
			return end
		}
		refusal := unavailable("the guest worker did not start: %s", end.Message)
		refusal.Reason = end.Reason
		refusal.final = end.Code == wire.CodeTimeout // a slow machine is no reason to do with less
		return refusal
	}
	if f, ok := m.(*wire.Fault); ok {
		refusal := unavailable("the guest worker did not start: %s", f.Message)
		refusal.final, refusal.refused = true, true // the worker itself says so
		return refusal
	}
	ready, ok := m.(*wire.Ready)
	if !ok || ready.Version != l.protocol {
		return unavailable("the guest worker speaks another protocol than this host; use the worker built with it")
	}
	if err := sandbox.Verify(p.os.Pid, ready.Layers); err != nil {
		return unavailable("the guest worker's sandbox cannot be verified: %v", err)
	}
	if err := b.checkEngine(ready); err != nil {
		return err
	}
	if err := l.checkReady(ready, p.group); err != nil {
		return err
	}
	p.ready = ready
	return nil
}

// watch is the one goroutine that waits for the process. The log pipe ends when
// the process does, so no thread has to block in wait for as long as it lives.
func (p *process) watch(logger *slog.Logger) {
	words := copyLog(p.log, logger, func() { p.kill(crashed("it wrote more than %d lines into its log", tooManyLines)) })
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	if err := p.os.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		logger.Error("guest worker cannot be killed", "error", err)
	}
	state, err := p.os.Wait()
	p.mu.Lock()
	p.exit = exitError(state, p.cause, words)
	killed := p.cause == nil
	p.mu.Unlock()
	if err != nil {
		p.exit = crashed("it cannot be waited for: %v", err)
	}
	if killed && p.group.outOfMemory() {
		p.exit = groupOutOfMemory()
	}
	if err := p.group.remove(); err != nil {
		logger.Error("control group of a guest worker cannot be removed", "error", err)
	}
	p.log.Close()
	p.closeStream()
	p.meter.close()
	p.late.stop()
	close(p.gone)
}

// unread is how long a process that is dead keeps its connection for what it said last.
const unread = time.Second

// closeStream closes the connection of a process that is dead once the conversation has
// read what it said last: its own words say more than its end. A descendant could hold the
// other end open, and then there is always more to wait for.
func (p *process) closeStream() {
	late := time.NewTimer(unread)
	defer late.Stop()
	select {
	case p.talk <- struct{}{}:
	case <-late.C:
	}
	p.stream.Close()
}

// kill ends the process for the given cause, unless it has ended or is being
// killed for another one.
func (p *process) kill(cause *WorkerError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause != nil {
		return
	}
	p.cause = cause
	if err := p.os.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.cause = crashed("it cannot be killed: %v", err)
	}
	// A descendant could hold the pipe open; what is in it does not matter now.
	if err := p.log.SetReadDeadline(time.Now()); err != nil && !errors.Is(err, os.ErrClosed) {
		p.log.Close()
	}
}

// awaitExit waits for the end of a process that is dying and returns it.
func (p *process) awaitExit() *WorkerError {
	<-p.gone
	return p.exit
}

// alive reports whether the process is not known to have ended or to be dying.
func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause == nil && !p.ended
}

// exchange sends one message and returns its answer, serving virtual files in
// between. At the deadline, and when ctx is done, the process is killed; an
// answer that comes too late is not returned.
func (p *process) exchange(ctx context.Context, m wire.Message, deadline time.Time, files FileFunc) (wire.Message, *WorkerError) {
	return p.withDeadline(ctx, deadline, func() (wire.Message, error) {
		if err := p.conn.Send(m); err != nil {
			return nil, err
		}
		return p.answer(ctx, files)
	})
}

// withDeadline runs a part of the conversation under the eyes of ctx and the clock.
func (p *process) withDeadline(ctx context.Context, deadline time.Time, talk func() (wire.Message, error)) (wire.Message, *WorkerError) {
	abort := func() { p.kill(aborted(context.Cause(ctx).Error())) }
	if ctx.Err() != nil {
		abort()
		return nil, p.awaitExit()
	}
	unwatch := context.AfterFunc(ctx, abort)
	p.late.expect(deadline, func() { p.kill(timedOut()) })
	select {
	case p.talk <- struct{}{}:
	case <-p.gone:
	}
	answer, err := talk()
	select {
	case <-p.talk:
	default: // the process is dead, and its connection closed
	}
	var end *WorkerError
	if err != nil {
		end = p.broken(err)
	}
	inTime := p.late.came()
	if !(unwatch() && inTime) && end == nil {
		// The kill is under way, if it has not happened yet.
		return nil, p.awaitExit()
	}
	return answer, end
}

func (p *process) answer(ctx context.Context, files FileFunc) (wire.Message, error) {
	for {
		m, err := p.conn.Receive()
		if err != nil {
			return nil, err
		}
		need, ok := m.(*wire.NeedFile)
		if !ok {
			return m, nil
		}
		var f wire.FileData
		if files != nil {
			f.Data, f.Found = files(ctx, need.Path)
		}
		if err := p.conn.Send(&f); err != nil {
			return nil, err
		}
	}
}

// broken accounts for a conversation that cannot continue, and waits for the end of the
// process. A message that is too large to be sent is the caller's doing; the process is
// ended all the same, because it waits for one that will never come.
func (p *process) broken(err error) *WorkerError {
	var large *wire.TooLargeError
	switch {
	case errors.As(err, &large):
		p.kill(workerError(wire.CodeInvalidInput, "", wire.PhaseHost, "%v", large))
	case errors.Is(err, wire.ErrMalformed):
		p.kill(protocolViolation(err))
	default:
		p.connLost(err)
	}
	return p.awaitExit()
}

// connLost handles a connection that ended without nonsense: the process is
// usually dying by itself and its own end says more than our kill. It gets a
// moment to do so.
func (p *process) connLost(err error) {
	grace := time.NewTimer(time.Second)
	defer grace.Stop()
	select {
	case <-p.gone:
	case <-grace.C:
		p.kill(crashed("it closed the connection: %v", err))
	}
}

func (p *process) String() string { return fmt.Sprintf("guest worker %d", p.os.Pid) }

// resetTimeout is how long a session waits for a worker to answer its Reset,
// which takes it well under a millisecond. Then another takes its place.
const resetTimeout = time.Second

// awaitReset takes the answer to the Reset a used process was sent, and reports
// whether it is as good as new.
func (p *process) awaitReset(ctx context.Context) bool {
	m, end := p.withDeadline(ctx, time.Now().Add(resetTimeout), func() (wire.Message, error) { return p.answer(ctx, nil) })
	if end != nil {
		return false
	}
	_, ok := m.(*wire.Ready)
	return ok
}
