package host

import (
	"sync"
	"time"
)

// inFlight counts the tool calls of all runs. Unlike a sync.WaitGroup it may be
// entered while somebody waits for it to empty.
type inFlight struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when n next becomes 0; nil unless somebody waits
}

func (f *inFlight) enter() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
}

func (f *inFlight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
	if f.n == 0 && f.empty != nil {
		close(f.empty)
		f.empty = nil
	}
}

// wait returns once no call is in flight, or after d, and reports how many are
// left.
func (f *inFlight) wait(d time.Duration) int {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return 0
	}
	if f.empty == nil {
		f.empty = make(chan struct{})
	}
	empty := f.empty
	f.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-empty:
		return 0
	case <-t.C:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}
