package drive

import (
	"sync"

	"github.com/quoinhq/quoin/host/codemode"
)

// lostWorkers are the runs that have outlived a worker which ended under them. Each does so
// once: a program that ends its worker each time must not go on for ever.
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

// outlives lets go of a run whose worker has ended under it, if the store has an account of
// it: a later Wait goes on from there. It returns nil if the run ends.
func (d *driver) outlives(f *codemode.Error) *codemode.Error {
	if f.Code != codemode.CodeUnavailable || f.Reason != codemode.ReasonWorkerCrashed || !d.run.env.lostWorkers.first(d.run.ID) || !d.run.leave(f) {
		return nil
	}
	return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonRunBusy, codemode.PhaseHost, "%s. The run is kept as it was stored last: wait for it again. Calls that were in flight may have taken effect.", f.Message)
}
