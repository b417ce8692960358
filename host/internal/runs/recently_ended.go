package runs

import (
	"sync"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
)

// maxRecent bounds the ended runs that a host remembers.
const maxRecent = 1024

// recentRuns are the newest runs that have ended in this process, so that a model
// that waits for one again learns what became of it. The zero value is ready. It is
// safe for concurrent use.
type recentRuns struct {
	mu    sync.Mutex
	runs  map[string]recentRun
	order []string // oldest first, a ring once it is full
	next  int
}

// recentRun is what is remembered of a run.
type recentRun struct {
	owner codemode.Session
	why   *codemode.Error // what a wait for it is told
}

// add remembers a run that has ended, and what a wait for it is told.
func (p *recentRuns) add(id string, owner codemode.Session, why *codemode.Error) {
	if why.Reason != codemode.ReasonRunExpired { // its last result had it
		why.Telemetry = nil
	}
	entry := recentRun{owner, why}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[string]recentRun{}
	}
	if _, known := p.runs[id]; known {
		return
	}
	if len(p.order) < maxRecent {
		p.order = append(p.order, id)
	} else {
		delete(p.runs, p.order[p.next])
		p.order[p.next] = id
		p.next = (p.next + 1) % maxRecent
	}
	p.runs[id] = entry
}

// find returns what a caller is told of a run that has ended and that it could have
// waited for, or nil.
func (p *recentRuns) find(id string, caller codemode.Session) *codemode.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.runs[id]
	if !ok || fault.MayResume(known.owner, caller) != nil {
		return nil
	}
	return known.why
}
