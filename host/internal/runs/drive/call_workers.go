package drive

import (
	"sync"
	"sync/atomic"
)

// maxIdle is how many goroutines wait for the next tool call.
const maxIdle = 32

// callWorkers perform tool calls. They keep the goroutines of calls that have ended for
// the next calls: the stack of a new goroutine is copied several times on the way down
// to a tool. BenchmarkCallWorkers shows what that saves.
//
// Calls that come together are a batch, which wakes one goroutine. That one passes the
// batch on before it performs its first call, and so does each goroutine that joins it. So
// calls that take long are all performed at once, and those that return at once need few
// goroutines.
type callWorkers[Job any] struct {
	do      func(Job) (next []Job) // on the same goroutine
	batches chan *batch[Job]
	idle    atomic.Int32
	end     <-chan struct{} // closed when the host ends
}

// batch is calls that wait for goroutines.
type batch[Job any] struct {
	mu      sync.Mutex
	jobs    []Job
	awaited bool // it was passed to a goroutine that has not joined it yet
}

func newCallWorkers[Job any](end <-chan struct{}, do func(Job) []Job) *callWorkers[Job] {
	return &callWorkers[Job]{do: do, batches: make(chan *batch[Job]), end: end}
}

// perform performs calls on goroutines of their own.
func (w *callWorkers[Job]) perform(jobs []Job) {
	if len(jobs) > 0 {
		w.pass(&batch[Job]{jobs: jobs, awaited: true})
	}
}

// pass wakes a goroutine for a batch.
func (w *callWorkers[Job]) pass(b *batch[Job]) {
	select {
	case w.batches <- b:
	default:
		go w.serve(b)
	}
}

// serve performs calls of one batch after the other.
func (w *callWorkers[Job]) serve(b *batch[Job]) {
	for {
		b.join()
		w.work(b)
		b = nil // a goroutine that waits holds no run
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case b = <-w.batches:
			w.idle.Add(-1)
		case <-w.end:
			return
		}
	}
}

// work performs calls of a batch, and those that come out of them, until the batch is
// empty.
func (w *callWorkers[Job]) work(b *batch[Job]) {
	for {
		j, ok, others := b.take()
		if !ok {
			return
		}
		if others {
			w.pass(b)
		}
		if next := w.do(j); len(next) > 0 {
			b = &batch[Job]{jobs: next} // another goroutine has the rest of b
		}
	}
}

// join says that a goroutine has joined the batch.
func (b *batch[Job]) join() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaited = false
}

// take takes a call out of the batch. It reports whether there was one, and whether the
// caller has to pass the batch on: then others are left, and no goroutine is on its way.
func (b *batch[Job]) take() (j Job, ok, others bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs) == 0 {
		return j, false, false
	}
	j, b.jobs = b.jobs[0], b.jobs[1:]
	if others = len(b.jobs) > 0 && !b.awaited; others {
		b.awaited = true
	}
	return j, true, others
}
