package guestrt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/internal/wire"
)

var (
	errReleased = workerError(wire.CodeInternal, "", wire.PhaseHost, "the guest worker was already released")
	errClosed   = aborted("the guest pool is closed")
	errUnneeded = aborted("the guest worker is no longer needed")
)

type unexpectedReplyError struct{ got wire.Type }

// cpuClaimError is a report of more processor time than there was.
type cpuClaimError struct {
	micros uint64
	wall   time.Duration
}

func (e *cpuClaimError) Error() string {
	return fmt.Sprintf("%d microseconds of processor time in %v", e.micros, e.wall)
}

func (e *unexpectedReplyError) Error() string {
	return fmt.Sprintf("a %v answers something else", e.got)
}

// Pool keeps warm guest workers and lends them to sessions. It is safe for
// concurrent use. Every process it starts has ended when Close returns.
type Pool struct {
	config Config
	guest  *binary
	spawn  *spawner
	ctx    context.Context // of background starts: done when the pool closes
	cancel context.CancelFunc
	launch launchConfig // fixed when NewPool returns
	layers []wire.Layer // of the first worker; fixed, too
	engine string       // id of the first worker's engine; fixed, too

	closed   atomic.Bool
	closing  sync.Once
	closeErr error

	warm    warmPool
	kept    slots[sessionWorker] // used, each waits for its session
	lastSeq atomic.Uint64        // counts session workers
	// checkScheduled says that a look at kept is due in a while.
	checkScheduled atomic.Bool

	counts lifecycleCounts // of processes, for Stats

	mu       sync.Mutex            // guards what follows, and the setting of closed
	live     map[*process]struct{} // every process that is not known to be reaped
	starting sync.WaitGroup        // starts in flight, warm or on demand
}

// sessionWorker is a process that waits for its session to come back. Its answer to
// the Reset it was sent is not read yet.
type sessionWorker struct {
	session string
	p       *process
	seq     uint64 // ascends in the order of their coming
	since   time.Time
	cpu     time.Duration // of the process when it was left alone
}

// NewPool finds the guest executable, proves that it works by starting one
// worker, and returns a pool that starts the others in the background. ctx
// bounds only this call. It fails with an *WorkerError of code runtime_unavailable,
// whose message names the missing layers if isolation is required and cannot be
// had.
func NewPool(ctx context.Context, c Config) (*Pool, error) {
	c = c.filled()
	if err := c.Isolation.check(); err != nil {
		return nil, err
	}
	if err := c.Engine.check(); err != nil {
		return nil, err
	}
	b, err := findBinary(c)
	if err != nil {
		return nil, err
	}
	p := &Pool{
		config: c, guest: b, spawn: newSpawner(),
		warm: newWarmPool(c.Prepared, c.MaxPrepared),
		kept: newSlots[sessionWorker](c.Prepared),
		live: map[*process]struct{}{},
	}
	p.launch = launchConfig{isolation: c.Isolation, groups: findGroups(), protocol: wire.Version}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	first, err := p.startFirst(ctx)
	if err != nil {
		if e := p.Close(); e != nil {
			c.Logger.Error("guest pool cannot be closed", "error", e)
		}
		return nil, err
	}
	p.layers, p.engine = first.ready.Layers, first.ready.EngineID
	p.returnUnused(first)
	p.refill()
	return p, nil
}

// BuildID returns the SHA-256 of the guest executable. Snapshots are valid only
// between pools of the same id.
func (p *Pool) BuildID() [32]byte { return p.guest.id }

// WriteGuest writes the guest executable, the one that BuildID is of even if its file has
// been replaced since. A pool that is closed has it no more.
func (p *Pool) WriteGuest(w io.Writer) error {
	_, err := io.Copy(w, io.NewSectionReader(p.guest.file, 0, math.MaxInt64))
	return err
}

// Engine returns which engine the workers run, which is never EngineAuto, and its id:
// the name of the engine, its version and the format of its snapshots.
func (p *Pool) Engine() (e Engine, id string) { return EngineOf(p.engine), p.engine }

// Layers reports the layers of isolation that the first worker had, and so every
// one. The slice is shared: do not modify it.
func (p *Pool) Layers() []wire.Layer { return p.layers }

// Acquire lends a worker to a session: the one it used before if that is still
// there, else a warm one, else a new one. An empty session never gets a used
// worker. The guest that the worker shall hold has the limits l: a process that
// was limited to less memory for another guest is not lent.
func (p *Pool) Acquire(ctx context.Context, session string, l wire.Limits) (*Worker, error) {
	for {
		child, used, err := p.take(session)
		if err != nil {
			return nil, err
		}
		if child == nil {
			if child, err = p.startAgain(ctx); err != nil {
				return nil, err
			}
		}
		if used && (child.memory.Load() < l.Filled().MemoryBytes || !child.awaitReset(ctx)) || !child.alive() {
			p.drop(child)
			continue
		}
		child.idle.Store(false)
		w := &Worker{pool: p, session: session, p: child}
		w.charged, _ = child.meter.cpu() // without a clock nothing is charged either
		return w, nil
	}
}

// AcquireFresh is Acquire of a worker that has run no guest yet.
func (p *Pool) AcquireFresh(ctx context.Context, session string, l wire.Limits) (*Worker, error) {
	w, err := p.Acquire(ctx, "", l)
	if err == nil {
		w.session = session
	}
	return w, err
}

// startAgain starts a process, and another one if the first dies before it is
// ready: someone may have killed it, and no guest has run in it yet.
func (p *Pool) startAgain(ctx context.Context) (*process, error) {
	child, err := p.start(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, errClosed) {
		return child, err
	}
	p.config.Logger.Warn("guest worker did not start; trying once more", "error", err)
	return p.start(ctx)
}

// take finds a waiting process for the session; nil if no process waits for it. It
// takes no lock.
func (p *Pool) take(session string) (child *process, used bool, err error) {
	if p.closed.Load() {
		return nil, false, errClosed
	}
	if session != "" {
		if l := p.kept.take(func(l *sessionWorker) bool { return l.session == session }); l != nil {
			if l.runaway() {
				l.p.kill(errRunaway)
			}
			return l.p, true, nil
		}
	}
	return p.takeWarm(), false, nil
}

// Release ends a lease. A worker that did nothing wrong waits for its session
// to come back; any other is killed. It may be called more than once and at any
// time; a call in flight is interrupted.
func (p *Pool) Release(w *Worker) {
	if w == nil {
		return
	}
	if !w.mu.TryLock() {
		w.Kill()
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	if w.released {
		return
	}
	w.released = true
	switch clean := !w.failed && w.p.alive(); {
	case clean && !w.used:
		p.returnUnused(w.p)
	case clean && w.session != "" && w.p.grown():
		w.p.kill(errGrown)
	case clean && w.session != "" && w.p.conn.Send(&wire.Reset{}) == nil:
		w.p.idle.Store(true)
		p.keep(newSessionWorker(w, p.lastSeq.Add(1)))
	default:
		p.drop(w.p)
	}
}

func newSessionWorker(w *Worker, seat uint64) *sessionWorker {
	cpu, _ := w.p.meter.cpu() // one that fails now fails when the worker is taken
	return &sessionWorker{session: w.session, p: w.p, seq: seat, since: time.Now(), cpu: cpu}
}

// keep lets a process wait for its session, in place of the one that has waited
// longest if there are too many.
func (p *Pool) keep(l *sessionWorker) {
	longer := func(a, b *sessionWorker) bool { return a.seq < b.seq }
	if evicted := p.kept.replace(l, longer); evicted != nil {
		p.drop(evicted.p)
	}
	if p.closed.Load() {
		p.clear()
	}
	p.scheduleCheck()
}

// clear ends every process that waits. A pool that closes calls it, and a goroutine that
// puts a process onto a shelf and then finds the pool closed.
func (p *Pool) clear() {
	for child := p.warm.ready.take(matchAny); child != nil; child = p.warm.ready.take(matchAny) {
		p.drop(child)
	}
	for l := p.kept.take(matchAny); l != nil; l = p.kept.take(matchAny) {
		p.drop(l.p)
	}
}

// drop ends a process. It does not wait.
func (p *Pool) drop(child *process) { child.kill(errUnneeded) }

// start starts a process and accounts for it until it is reaped.
func (p *Pool) start(ctx context.Context) (*process, error) {
	p.mu.Lock()
	if p.closed.Load() {
		p.mu.Unlock()
		return nil, errClosed
	}
	p.starting.Add(1)
	p.mu.Unlock()
	defer p.starting.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	child, err := startProcess(ctx, p.spawn, p.guest, &p.launch, p.config.Logger)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.live[child] = struct{}{}
	closed := p.closed.Load()
	p.mu.Unlock()
	p.counts.countStart()
	go func() {
		<-child.gone
		p.counts.countExit(child.exit)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.live, child)
	}()
	if closed {
		p.drop(child)
		return nil, errClosed
	}
	return child, nil
}

// Close ends every worker, also those that are lent, and returns when all of
// them are reaped. Calls in flight end with code aborted. It may be called again,
// and then waits for the first and returns its error.
func (p *Pool) Close() error {
	p.closing.Do(func() { p.closeErr = p.close() })
	return p.closeErr
}

func (p *Pool) close() error {
	p.mu.Lock()
	p.closed.Store(true)
	p.mu.Unlock()
	p.clear()
	p.cancel()
	p.starting.Wait()
	for _, child := range p.children() {
		child.kill(errClosed)
	}
	for _, child := range p.children() {
		<-child.gone
	}
	p.spawn.stop()
	return p.guest.file.Close()
}

func (p *Pool) children() []*process {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*process, 0, len(p.live))
	for child := range p.live {
		list = append(list, child)
	}
	return list
}
