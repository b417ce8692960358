package runstest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/internal/wire"
)

// Guests are workers without processes, of one build of the guest.
type Guests struct {
	Build string // of the guest; it names the build, and nothing else
	// Fails, unless it is nil, says how a worker fails at what it is asked: "start", "turn",
	// "snapshot", "restore" or "acquire".
	Fails func(ctx context.Context, what string) error

	mu     sync.Mutex
	stats  guestrt.Stats
	counts map[string]int
}

// Layers is the isolation that the workers say they have.
var layers = []wire.Layer{{Name: "seccomp", State: wire.LayerOn}}

// EngineID is the id of the engine of the workers.
const EngineID = "quickjs-fake/1"

var _ guests.Pool = (*Guests)(nil)

// Count counts how often workers were asked for something.
func (p *Guests) Count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[what]
}

// asked counts what a worker is asked, and fails if it is to.
func (p *Guests) asked(ctx context.Context, what string) error {
	p.mu.Lock()
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	p.counts[what]++
	p.mu.Unlock()
	if p.Fails != nil {
		return p.Fails(ctx, what)
	}
	return nil
}

// Acquire lends a worker.
func (p *Guests) Acquire(ctx context.Context, _ string, _ wire.Limits) (guests.Worker, error) {
	if err := p.asked(ctx, "acquire"); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.InUse++
	p.stats.Started++
	return &worker{pool: p, killed: make(chan struct{})}, nil
}

// AcquireFresh is Acquire: each worker is new.
func (p *Guests) AcquireFresh(ctx context.Context, session string, l wire.Limits) (guests.Worker, error) {
	return p.Acquire(ctx, session, l)
}

// Release ends the loan of a worker.
func (p *Guests) Release(w guests.Worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := w.(*worker); !w.released {
		w.released = true
		p.stats.InUse--
	}
}

// BuildID is of the name of the build.
func (p *Guests) BuildID() [32]byte { return sha256.Sum256([]byte(p.Build)) }

// Engine returns the engine of new workers.
func (p *Guests) Engine() (guestrt.Engine, string) { return guestrt.EngineOf(EngineID), EngineID }

// Layers is the isolation of the workers.
func (p *Guests) Layers() []wire.Layer { return layers }

// Stats counts the workers.
func (p *Guests) Stats() guestrt.Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// WriteGuest writes the name of the build.
func (p *Guests) WriteGuest(w io.Writer) error {
	_, err := io.WriteString(w, p.Build)
	return err
}

// Close does nothing.
func (p *Guests) Close() error { return nil }

// Crash is the end of a worker.
func Crash() error {
	return &guestrt.WorkerError{Code: wire.CodeRuntimeUnavailable, Reason: wire.ReasonWorkerCrashed, Phase: wire.PhaseHost, Message: "the guest worker ended unexpectedly: it was killed by signal 9"}
}

// worker has one guest at a time.
type worker struct {
	pool     *Guests
	killed   chan struct{}
	kill     sync.Once
	released bool
	guest    *Guest
	files    guestrt.FileFunc
}

// turnEnd is when a turn ends at the latest.
type turnEnd struct {
	ctx      context.Context
	deadline time.Time
}

func (w *worker) Kill()                { w.kill.Do(func() { close(w.killed) }) }
func (w *worker) Layers() []wire.Layer { return layers }
func (w *worker) EngineID() string     { return EngineID }

// spend lets time pass.
func (w *worker) spend(end turnEnd, d time.Duration) error {
	late := false
	if left := time.Until(end.deadline); !end.deadline.IsZero() && left < d {
		d, late = left, true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-end.ctx.Done():
		return &guestrt.WorkerError{Code: wire.CodeAborted, Phase: wire.PhaseHost, Message: "code mode run was aborted: " + context.Cause(end.ctx).Error()}
	case <-w.killed:
		return &guestrt.WorkerError{Code: wire.CodeAborted, Phase: wire.PhaseHost, Message: "code mode run was aborted: the worker was killed"}
	}
	if late {
		return &guestrt.WorkerError{Code: wire.CodeTimeout, Phase: wire.PhaseGuest, Message: wire.TextTimeout}
	}
	return nil
}

// Start runs the first turn of a program.
func (w *worker) Start(ctx context.Context, c wire.Cell, files guestrt.FileFunc, deadline time.Time) (*wire.Report, error) {
	return w.ReplayStart(ctx, c, nil, files, deadline)
}

// Turn runs a turn.
func (w *worker) Turn(ctx context.Context, in []wire.Settlement, deadline time.Time) (*wire.Report, error) {
	return w.ReplayTurn(ctx, in, nil, deadline)
}

// ReplayStart is Start at the time of a trace.
func (w *worker) ReplayStart(ctx context.Context, c wire.Cell, trace []byte, files guestrt.FileFunc, deadline time.Time) (*wire.Report, error) {
	if err := w.pool.asked(ctx, "start"); err != nil {
		return nil, err
	}
	w.files = files
	w.guest = &Guest{worker: w, state: state{Source: c.Source}}
	return w.guest.turn(trace, turnEnd{ctx, deadline})
}

// ReplayTurn is Turn at the time of a trace.
func (w *worker) ReplayTurn(ctx context.Context, in []wire.Settlement, trace []byte, deadline time.Time) (*wire.Report, error) {
	if err := w.pool.asked(ctx, "turn"); err != nil {
		return nil, err
	}
	for _, s := range in {
		w.guest.state.Answers = append(w.guest.state.Answers, answer{s.ID, s.OK, bytes.Clone(s.JSON)})
	}
	return w.guest.turn(trace, turnEnd{ctx, deadline})
}

// Snapshot returns an image of the guest.
func (w *worker) Snapshot(ctx context.Context, maxBytes int) ([]byte, error) {
	if err := w.pool.asked(ctx, "snapshot"); err != nil {
		return nil, err
	}
	image, err := json.Marshal(w.guest.state)
	if err != nil {
		return nil, err
	}
	image = append(image, bytes.Repeat([]byte(" "), w.guest.state.Ballast)...)
	if maxBytes > 0 && len(image) > maxBytes {
		return nil, &guestrt.WorkerError{Code: wire.CodeSnapshotLimit, Phase: wire.PhaseGuest, Message: "code mode snapshot limit exceeded."}
	}
	return image, nil
}

// Restore makes a guest of an image.
func (w *worker) Restore(ctx context.Context, image []byte, _ wire.Limits, files guestrt.FileFunc) error {
	if err := w.pool.asked(ctx, "restore"); err != nil {
		return err
	}
	w.files, w.guest = files, &Guest{worker: w}
	if err := json.Unmarshal(image, &w.guest.state); err != nil {
		return &guestrt.WorkerError{Code: wire.CodeInternal, Reason: wire.ReasonSnapshotRestore, Phase: wire.PhaseHost, Message: "code mode snapshot cannot be restored: " + err.Error()}
	}
	return nil
}

// turn runs the program until it gets no further.
func (g *Guest) turn(trace []byte, end turnEnd) (_ *wire.Report, err error) {
	g.state.Now = time.Now()
	if len(trace) > 0 {
		if err := g.state.Now.UnmarshalText(trace); err != nil {
			return nil, err
		}
	}
	g.report, g.end = &wire.Report{TimerMillis: -1}, end
	g.report.Trace, err = g.state.Now.MarshalText()
	if err != nil {
		return nil, err
	}
	g.requests, g.timers, g.outputs, g.steps = 0, 0, 0, 0
	if err := g.run(); err != nil {
		return nil, err
	}
	if g.report.Status != wire.StatusIdle {
		return g.report, nil
	}
	g.report.Pending = g.state.Requests - len(g.state.Answers)
	for _, due := range g.state.Due {
		if left := due.Sub(g.state.Now); left > 0 && (g.report.TimerMillis < 0 || left.Milliseconds() < g.report.TimerMillis) {
			g.report.TimerMillis = max(1, left.Milliseconds())
		}
	}
	return g.report, nil
}

// run runs the program until it waits, returns, throws or is ended.
func (g *Guest) run() (err error) {
	program := programOf(g.state.Source)
	if program == nil {
		program = func(g *Guest) any {
			panic(Thrown{wire.GuestError{Name: "SyntaxError", Message: "there is no such program", Code: wire.CodeInvalidInput, Reason: wire.ReasonSyntaxError, Phase: wire.PhaseInput}})
		}
	}
	defer func() {
		switch p := recover().(type) {
		case nil, waits:
		case Thrown:
			g.report.Status, g.report.Err = wire.StatusFailed, &p.GuestError
		case error:
			err = p
			if e := (*guestrt.WorkerError)(nil); !errors.As(p, &e) {
				panic(p)
			}
		default:
			panic(p)
		}
	}()
	v := program(g)
	g.report.Status, g.report.Value = wire.StatusDone, encoded(v)
	if v == nil {
		g.report.Value = []byte("null")
	}
	return nil
}
