package drive

import (
	"sync"
)

// lostWorkers are the runs that have outlived a worker which ended under them. Each does so
// once: a program that ends its worker each time must not run for ever.
type lostWorkers struct {
	mu   sync.Mutex
	runs map[string]bool
}

// maxLostWorkers bounds how many runs are remembered. Forgetting costs one more attempt.
const maxLostWorkers = 1024

// first reports whether a run has lost no worker before, and notes that it has now.
func (l *lostWorkers) first(run string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) >= maxLostWorkers || l.runs == nil {
		l.runs = make(map[string]bool)
	}
	lost := l.runs[run]
	l.runs[run] = true
	return !lost
}
