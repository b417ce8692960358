package guestrt

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/internal/wire"
)

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

// warmPool is the pool's supply of unused workers. Workers are taken
// without a lock; what is missing is started in the background.
type warmPool struct {
	ready   slots[process]
	count   atomic.Int32 // ready, or being started for the shelf
	surge   atomic.Int32 // how many more than Config.Prepared are wanted
	maximum int32        // of surge
	later   func(time.Duration, func())
}

func newWarmPool(prepared, most int) warmPool {
	return warmPool{
		ready:   newSlots[process](most),
		maximum: int32(most - prepared),
		later:   func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
}
