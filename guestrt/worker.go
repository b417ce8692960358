package guestrt

import (
	"context"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// Worker is a lease on one guest worker process, from Acquire to Release. Its
// calls are serialised.
type Worker struct {
	pool    *Pool
	session string
	p       *process

	mu       sync.Mutex
	used     bool // a guest was made
	failed   bool // a guest failed or a call ended badly
	released bool // released
	files    FileFunc
	// charged is the processor time of the process that reports have accounted for.
	charged time.Duration
}

// Start makes a guest and runs the cell until it waits, returns or fails. The
// files serve every later call of this guest. A zero deadline does not bound it. A
// deadline comes later by the time for which this process stands still before it.
func (w *Worker) Start(ctx context.Context, c wire.Cell, files FileFunc, deadline time.Time) (*wire.Report, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beginGuest(c.Limits, files)
	return w.report(ctx, &wire.Start{Cell: c, BudgetMicros: budget(deadline)}, deadline)
}

// Turn delivers settlements and runs the guest until it waits, returns or fails.
func (w *Worker) Turn(ctx context.Context, in []wire.Settlement, deadline time.Time) (*wire.Report, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.report(ctx, &wire.Turn{Settlements: in, BudgetMicros: budget(deadline)}, deadline)
}

// ReplayStart is Start for a replay of a guest's first turn. Trace is the trace of the turn's
// report.
func (w *Worker) ReplayStart(ctx context.Context, c wire.Cell, trace []byte, files FileFunc, deadline time.Time) (*wire.Report, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beginGuest(c.Limits, files)
	return w.report(ctx, &wire.Start{Cell: c, BudgetMicros: budget(deadline), Trace: trace}, deadline)
}

// ReplayTurn is Turn for a replay of a later turn.
func (w *Worker) ReplayTurn(ctx context.Context, in []wire.Settlement, trace []byte, deadline time.Time) (*wire.Report, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.report(ctx, &wire.Turn{Settlements: in, BudgetMicros: budget(deadline), Trace: trace}, deadline)
}

// Snapshot returns an image of the waiting guest, at most maxBytes long, that
// any worker of the same build can restore. The guest stays usable, also when its
// image would be longer; that is an WorkerError of code snapshot_limit_exceeded. A
// maxBytes of 0 means wire.MaxImage.
func (w *Worker) Snapshot(ctx context.Context, maxBytes int) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if maxBytes > 0 {
		w.p.conn.Limit(wire.TypeImage, wire.ImageBytes(maxBytes))
		defer w.p.conn.Limit(wire.TypeImage, 0)
	}
	m, err := w.roundTrip(ctx, &wire.Snapshot{MaxBytes: uint64(max(maxBytes, 0))}, time.Now().Add(serviceTimeout), nil)
	if err != nil {
		return nil, err
	}
	image, ok := m.(*wire.Image)
	if !ok {
		return nil, w.unexpectedReply(m)
	}
	return image.Data, nil
}

// Restore makes a guest of an image. The files serve every later call.
func (w *Worker) Restore(ctx context.Context, image []byte, l wire.Limits, files FileFunc) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beginGuest(l, files)
	m, err := w.roundTrip(ctx, &wire.Restore{Image: image, Limits: l}, time.Now().Add(serviceTimeout), files)
	if err != nil {
		return err
	}
	if _, ok := m.(*wire.Restored); !ok {
		return w.unexpectedReply(m)
	}
	return nil
}

// beginGuest notes what the process is about to hold. A process that has limited its
// memory for a guest cannot have more again.
func (w *Worker) beginGuest(l wire.Limits, files FileFunc) {
	w.used, w.files = true, files
	w.p.memory.Store(l.Filled().MemoryBytes)
	w.p.usageWatched.Do(func() { go w.p.watchUsage() })
}

// Kill ends the process at once; a call in flight returns an WorkerError of code
// aborted.
func (w *Worker) Kill() { w.p.kill(aborted("the worker was killed")) }

// Layers returns the isolation the worker reported when it got ready.
func (w *Worker) Layers() []wire.Layer { return w.p.ready.Layers }

// EngineID returns the id of the worker's engine, as Pool.Engine does.
func (w *Worker) EngineID() string { return w.p.ready.EngineID }

// Pid returns the process id of the worker.
func (w *Worker) Pid() int { return w.p.os.Pid }

// serviceTimeout bounds calls in which no guest code runs.
const serviceTimeout = 30 * time.Second

// report asks for a report and notes a failed one.
func (w *Worker) report(ctx context.Context, m wire.Message, deadline time.Time) (*wire.Report, error) {
	began := time.Now()
	answer, err := w.roundTrip(ctx, m, deadline, w.files)
	if err != nil {
		return nil, err
	}
	r, ok := answer.(*wire.Report)
	if !ok {
		return nil, w.unexpectedReply(answer)
	}
	if err := w.charge(r, time.Since(began)); err != nil {
		return nil, w.failWith(protocolViolation(err))
	}
	if r.Status == wire.StatusFailed {
		w.failed = true
	}
	return r, nil
}

// roundTrip exchanges one message. Whatever is not an answer ends the process, but for
// the refusal to make an image that is too large.
func (w *Worker) roundTrip(ctx context.Context, m wire.Message, deadline time.Time, files FileFunc) (wire.Message, error) {
	if w.released {
		return nil, errReleased
	}
	answer, end := w.p.exchange(ctx, m, deadline, files)
	if end != nil {
		w.failed = true
		return nil, end
	}
	if f, ok := answer.(*wire.Fault); ok {
		if _, asked := m.(*wire.Snapshot); asked && f.Code == wire.CodeSnapshotLimit {
			return nil, faultError(f) // the guest is as it was
		}
		return nil, w.failWith(faultError(f))
	}
	return answer, nil
}

// unexpectedReply ends a process that gave an answer of the wrong type.
func (w *Worker) unexpectedReply(m wire.Message) error {
	return w.failWith(protocolViolation(&unexpectedReplyError{m.Type()}))
}

// failWith ends the process for a reason it can still be blamed for.
func (w *Worker) failWith(e *WorkerError) error {
	w.failed = true
	w.p.kill(e)
	return w.p.awaitExit()
}

// budget is the time a guest is told it has: less than the host gives it, so
// that it can fail with its own words. A deadline that has come leaves the least
// budget there is.
func budget(deadline time.Time) uint64 {
	if deadline.IsZero() {
		return 0
	}
	left := time.Until(deadline)
	return uint64(max((left - min(softDeadlineMargin, left/4)).Microseconds(), 1))
}

// charge replaces the processor time of a report by what the host measured since
// the report before, if that is more. A report that claims more than there was is
// refused.
func (w *Worker) charge(r *wire.Report, wall time.Duration) error {
	if most := wall*sandbox.GroupThreads + cpuSlack; r.CPUMicros > uint64(most.Microseconds()) {
		return &cpuClaimError{r.CPUMicros, wall}
	}
	if now, ok := w.p.meter.cpu(); ok {
		r.CPUMicros = max(r.CPUMicros, uint64((now - w.charged).Microseconds()))
		w.charged = now
	}
	return nil
}
