package calls

import (
	"context"
	"sync"
)

// InFlight counts what is under way, such as the tool calls of all runs. Unlike a
// sync.WaitGroup it may be entered while someone waits for it to empty.
//
// A call is paused while all it does is to wait for someone outside of this process
// who may come back to another one: a caller with an answer, a person with a
// decision.
type InFlight struct {
	mu     sync.Mutex
	n      int
	paused int
	fewer  chan struct{} // closed when a call leaves or pauses; nil unless someone waits
}

func (f *InFlight) Enter() { f.count(1, 0) }
func (f *InFlight) Leave() { f.count(-1, 0) }

// Pause says that a call that has entered pauses until resume.
func (f *InFlight) Pause()  { f.count(0, 1) }
func (f *InFlight) Resume() { f.count(0, -1) }

func (f *InFlight) count(n, paused int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n += n
	f.paused += paused
	if f.fewer != nil && (n < 0 || paused > 0) {
		close(f.fewer)
		f.fewer = nil
	}
}

// LeaveN is leave for n at once.
func (f *InFlight) LeaveN(n int) { f.count(-n, 0) }

// Wait returns once nothing is under way, or when ctx ends, and reports how much
// is left.
func (f *InFlight) Wait(ctx context.Context) int {
	return f.until(ctx, func() int { return f.n })
}

// WaitBusy is wait for what is not paused.
func (f *InFlight) WaitBusy(ctx context.Context) int {
	return f.until(ctx, func() int { return f.n - f.paused })
}

func (f *InFlight) until(ctx context.Context, left func() int) int {
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
func (f *InFlight) Now() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
