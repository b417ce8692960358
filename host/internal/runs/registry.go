package runs

import (
	"sync"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
)

// registry has the runs of this process, and who drives them. It is safe for concurrent use.
type registry struct {
	mu      sync.Mutex
	closing bool                  // nothing new is let in
	closed  bool                  // close has started
	runs    map[string]*drive.Run // active and suspended, by run id
	recent  recentRuns
	driving calls.InFlight // Execs and Waits
}

// ByID returns the run of this process with that id, or nil.
func (g *registry) ByID(id string) *drive.Run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runs[id]
}

// runsOf returns the runs of the session that this process has.
func (g *registry) runsOf(s codemode.Session) (out []*drive.Run) { return g.OwnedBy(s.Covers) }

func (g *registry) OwnedBy(wanted func(codemode.Session) bool) (out []*drive.Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.runs {
		if wanted(r.Session) {
			out = append(out, r)
		}
	}
	return out
}

// enter lets an Exec or Wait in, which leaves callers when it returns.
func (g *registry) enter() *codemode.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return fault.Closing()
	}
	g.driving.Enter()
	return nil
}

func (g *registry) IsClosing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closing
}

// add makes r known to Wait and Close.
func (g *registry) add(r *drive.Run) *codemode.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fault.Closing()
	}
	g.runs[r.ID] = r
	return nil
}

func (g *registry) Remove(r *drive.Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs[r.ID] == r {
		delete(g.runs, r.ID)
	}
}

func (g *registry) Remember(id string, s codemode.Session, why *codemode.Error) {
	g.recent.add(id, s, why)
}
