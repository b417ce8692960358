package host

import (
	"fmt"
	"sync"
)

// maxPast bounds the ended runs that a host remembers.
const maxPast = 1024

// pastRuns are the newest runs that have ended in this process, so that a model
// that waits for one again learns that it has ended rather than that nobody knows
// it. The zero value is ready. It is safe for concurrent use.
type pastRuns struct {
	mu    sync.Mutex
	owner map[string]Session
	order []string // oldest first, a ring once it is full
	next  int
}

// note remembers a run that has ended.
func (p *pastRuns) note(id string, owner Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owner == nil {
		p.owner = map[string]Session{}
	}
	if _, known := p.owner[id]; known {
		return
	}
	if len(p.order) < maxPast {
		p.order = append(p.order, id)
	} else {
		delete(p.owner, p.order[p.next])
		p.order[p.next] = id
		p.next = (p.next + 1) % maxPast
	}
	p.owner[id] = owner
}

// ended reports whether a run has ended that the caller could have waited for.
func (p *pastRuns) ended(id string, caller Session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	owner, known := p.owner[id]
	return known && mayResume(owner.stored(), caller.stored()) == nil
}

// goneFor says more of a run that is not there any more.
func (h *Host) goneFor(f *failure, s Session, id string) *failure {
	switch {
	case f.Reason == ReasonRunExpired:
		return f.and(" It was not waited for in time: a suspended run is kept for %s after its last use (tools.codeMode.snapshotTtlSeconds). Run the program again.", h.settingsOf(s).SnapshotTTL)
	case f.Reason != ReasonRunUnavailable || f.Phase != PhaseInput:
		return f
	case h.past.ended(id, s):
		return f.and(" It has ended, and its last result was the final one; there is nothing to wait for any more.")
	}
	return f.and(" A run can be waited for while its last result was waiting; after that, run the program again.")
}

// and is a copy of f with a sentence added.
func (f *failure) and(format string, args ...any) *failure {
	more := *f
	more.Text += fmt.Sprintf(format, args...)
	return &more
}
