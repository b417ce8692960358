package host

import (
	"errors"
	"sync"

	"github.com/quoinhq/quoin/host/runstore"
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
	owner Session
	why   *failure // what a wait for it is told
}

// add remembers a run that has ended, and why: nil means that its program returned.
func (p *recentRuns) add(r *run, cause error) {
	why := recentFailure(cause)
	withRun(why, r)
	if why.Reason != ReasonRunExpired { // its last result had it
		why.Telemetry = nil
	}
	entry := recentRun{r.session, why}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[string]recentRun{}
	}
	if _, known := p.runs[r.id]; known {
		return
	}
	if len(p.order) < maxRecent {
		p.order = append(p.order, r.id)
	} else {
		delete(p.runs, p.order[p.next])
		p.order[p.next] = r.id
		p.next = (p.next + 1) % maxRecent
	}
	p.runs[r.id] = entry
}

// recentFailure is what a wait for a run is told that has ended for that cause.
func recentFailure(cause error) *failure {
	f := ofStore(runstore.ErrNotFound)
	switch {
	case errors.Is(cause, runstore.ErrExpired):
		return ofStore(cause)
	case errors.Is(cause, ErrAborted):
		return and(f, " It was aborted; there is nothing to wait for any more.")
	case errors.Is(cause, ErrSessionEnded):
		return and(f, " It ended with its session; there is nothing to wait for any more.")
	}
	return and(f, " It has ended, and its last result was the final one; there is nothing to wait for any more.")
}

// find returns what a caller is told of a run that has ended and that it could have
// waited for, or nil.
func (p *recentRuns) find(id string, caller Session) *failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.runs[id]
	if !ok || mayResume(known.owner, caller) != nil {
		return nil
	}
	return known.why
}

// explainMissing says more of a run that is not there any more. It advises to start a program
// again only if it is known to have called no tool.
func (e *engine) explainMissing(f *failure, s Session, id string) *failure {
	if f.Reason == ReasonRunUnavailable && f.Phase == PhaseInput {
		recent := e.recent.find(id, s)
		if recent == nil {
			f = and(f, " A run can be waited for while its last result was waiting. Nothing is known of this one: if its program called tools, find out what they did before you start it again.")
			f.Dispatched = true // for all that is known
			return f
		}
		f = recent
	}
	if f.Reason != ReasonRunExpired {
		return f
	}
	advice := "It had called no tool: start the program again."
	if f.Dispatched {
		advice = "It had called tools: find out what they did before you start the program again."
	}
	return and(f, " It was not waited for in time: a suspended run is kept for %s after its last use (tools.codeMode.snapshotTtlSeconds). %s", e.settingsOf(s).SnapshotTTL, advice)
}
