package guestrt

import (
	"cmp"
	"sync"
)

// The names under which Stats counts the workers that ended without having failed.
const (
	exitReleased = "released"
	exitGrown    = "grown"
	exitRunaway  = "runaway"
)

// lifecycleCounts counts the starts and ends of workers.
type lifecycleCounts struct {
	mu      sync.Mutex
	started uint64
	by      map[string]uint64
}

func (e *lifecycleCounts) countStart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started++
}

func (e *lifecycleCounts) countExit(end *WorkerError) {
	name := cmp.Or(end.Reason, end.Code)
	switch end {
	case errUnneeded, errClosed:
		name = exitReleased
	case errGrown:
		name = exitGrown
	case errRunaway:
		name = exitRunaway
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.by == nil {
		e.by = make(map[string]uint64)
	}
	e.by[name]++
}
