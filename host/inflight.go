package host

import (
	"context"
	"sync"
)

// inFlight counts what is under way, such as the tool calls of all runs. Unlike a
// sync.WaitGroup it may be entered while somebody waits for it to empty.
//
// A call rests while all it does is to wait for somebody outside of this process
// who may come back to another one: a caller with an answer, a person with a
// decision.
type inFlight struct {
	mu      sync.Mutex
	n       int
	resting int
	fewer   chan struct{} // closed when a call leaves or rests; nil unless somebody waits
}

func (f *inFlight) enter() { f.count(1, 0) }
func (f *inFlight) leave() { f.count(-1, 0) }

// rest says that a call that has entered rests until rise.
func (f *inFlight) rest() { f.count(0, 1) }
func (f *inFlight) rise() { f.count(0, -1) }

func (f *inFlight) count(n, resting int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n += n
	f.resting += resting
	if f.fewer != nil && (n < 0 || resting > 0) {
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

// waitBusy is wait for what does not rest.
func (f *inFlight) waitBusy(ctx context.Context) int {
	return f.until(ctx, func() int { return f.n - f.resting })
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
