package runs

import (
	"context"
	"sync"
)

// inFlight counts what is under way, such as the tool calls of all runs. Unlike a
// sync.WaitGroup it may be entered while someone waits for it to empty.
//
// A call is paused while all it does is to wait for someone outside of this process
// who may come back to another one: a caller with an answer, a person with a
// decision.
type inFlight struct {
	mu     sync.Mutex
	n      int
	paused int
	fewer  chan struct{} // closed when a call leaves or pauses; nil unless someone waits
}

func (f *inFlight) enter() { f.count(1, 0) }
func (f *inFlight) leave() { f.count(-1, 0) }

// pause says that a call that has entered pauses until resume.
func (f *inFlight) pause()  { f.count(0, 1) }
func (f *inFlight) resume() { f.count(0, -1) }

func (f *inFlight) count(n, paused int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n += n
	f.paused += paused
	if f.fewer != nil && (n < 0 || paused > 0) {
		close(f.fewer)
		f.fewer = nil
	}
}

// leaveN is leave for n at once.
func (f *inFlight) leaveN(n int) { f.count(-n, 0) }

// wait returns once nothing is under way, or when ctx ends, and reports how much
// is left.
func (f *inFlight) wait(ctx context.Context) int {
	return f.until(ctx, func() int { return f.n })
}

// waitBusy is wait for what is not paused.
func (f *inFlight) waitBusy(ctx context.Context) int {
	return f.until(ctx, func() int { return f.n - f.paused })
}

func (f *inFlight) until(ctx context.Context, left func() int) int {
	for {
		f.mu.Lock()
		n := left()
		if n > 0 && f.fewer == nil {
			f.fewer = make(chan struct{})
		}
		fewer := f.fewer
		f.mu.Unlock()
		if n == 0 {
			return 0
		}
		select {
		case <-fewer:
		case <-ctx.Done():
			return n
		}
	}
}

// Now returns how much is under way.
func (f *inFlight) now() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
