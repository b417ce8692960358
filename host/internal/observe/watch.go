package observe

import (
	"context"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
)

// Watched is one thing that a Watch is told. One of the fields is set.
type Watched struct {
	Event    *trajectory.Event
	Output   *codemode.Output
	Approval *codemode.PendingApproval
}

// Watch is told what happens in the runs that are driven under its context. Telling it
// never blocks: of what a slow reader leaves, only the first maxBacklog are kept.
type Watch struct {
	wake chan struct{} // capacity 1: there is something to take

	mu      sync.Mutex
	backlog []Watched
	closed  bool
}

// NewWatch returns a Watch. Close it when no one takes from it any more.
func NewWatch() *Watch { return &Watch{wake: make(chan struct{}, 1)} }

// watchKey is the context key of WithWatch.
type watchKey struct{}

// WithWatch returns a context for Execs and Waits. The watch is told of their runs.
func WithWatch(ctx context.Context, w *Watch) context.Context {
	return context.WithValue(ctx, watchKey{}, w)
}

// WatchOf returns the watch of a context, or nil.
func WatchOf(ctx context.Context) *Watch {
	w, _ := ctx.Value(watchKey{}).(*Watch)
	return w
}

// Wake has a value when there may be something to take.
func (w *Watch) Wake() <-chan struct{} { return w.wake }

// Take returns what has happened since the last Take.
func (w *Watch) Take() []Watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.backlog
	w.backlog = nil
	return taken
}

// Close has the watch forget what it is told from now on.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backlog, w.closed = nil, true
}

// Tell adds one thing, or counts it in the gap at the end of a full backlog.
func (w *Watch) Tell(one Watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.backlog)
	switch {
	case w.closed:
		return
	case n < maxBacklog:
		w.backlog = append(w.backlog, one)
	case n == maxBacklog:
		w.backlog = append(w.backlog, Watched{Event: &trajectory.Event{Kind: trajectory.Gap, Time: time.Now().Round(0), Missed: 1}})
	default:
		w.backlog[n-1].Event.Missed++
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wanted reports whether events of the run have a reader.
func (r *Run) wanted() bool { return r.watch.Load() != nil || r.o.Wanted() }

// emit hands out an event of the run.
func (r *Run) emit(e trajectory.Event) {
	e = r.o.Emit(e)
	if w := r.watch.Load(); w != nil {
		w.Tell(Watched{Event: &e})
	}
}

// Emitted tells the watch of the run, and those who have asked for it, what its program has put
// out. It is recorded nowhere.
func (r *Run) Emitted(items []codemode.Output) {
	w, followed := r.watch.Load(), r.o.feed.outs.Load() > 0
	for _, o := range items {
		if w != nil {
			w.Tell(Watched{Output: &o})
		}
		if !followed {
			continue
		}
		if text, err := o.MarshalJSON(); err == nil {
			e := r.event(trajectory.OutputMade)
			e.Time, e.Output, e.OutputBytes = time.Now().Round(0), text, len(text)
			r.o.feed.publish(e)
		}
	}
}

// Asked tells the watch of the run what a person is asked. Pending is called if there is
// a watch.
func (r *Run) Asked(pending func() codemode.PendingApproval) {
	if w := r.watch.Load(); w != nil {
		a := pending()
		w.Tell(Watched{Approval: &a})
	}
}
