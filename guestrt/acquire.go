package guestrt

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/internal/wire"
)

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

func newSessionWorker(w *Worker, seat uint64) *sessionWorker {
	cpu, _ := w.p.meter.cpu() // one that fails now fails when the worker is taken
	return &sessionWorker{session: w.session, p: w.p, seq: seat, since: time.Now(), cpu: cpu}
}
