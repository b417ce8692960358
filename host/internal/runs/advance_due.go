package runs

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// Which runs can go on is known in three places. What this process has parked, it knows
// itself. What no process has, the store tells. And where a process has ended while a person
// was asked, the store of approvals has the decision.

// lookShare is how much more time passes between two looks at a store than one look takes.
const lookShare = 20

// pace says when a store is looked at again, so that a large one is not looked at all the time.
type pace struct {
	every time.Duration
	next  time.Time
}

// look runs a step if it is time for it.
func (p *pace) look(step func()) {
	start := time.Now()
	if start.Before(p.next) {
		return
	}
	step()
	p.next = start.Add(max(p.every, lookShare*time.Since(start)))
}

// scheduler is the store of runs, if it knows which runs can go on; else nil.
func (e *Engine) scheduler() runstore.Scheduler {
	s, _ := e.Store.(runstore.Scheduler)
	return s
}

// watch returns what tells of runs that were woken, and of decisions.
func (a *advancer) watch() (woken <-chan string, decided <-chan struct{}) {
	if s := a.engine.scheduler(); s != nil {
		woken = s.Watch(a.life)
	}
	if a.looksAtDecisions() {
		decided = a.engine.ApprovalStore.Watch(a.life)
	}
	return woken, decided
}

// lookAtStore considers the runs of the store that can go on and that no process has.
func (a *advancer) lookAtStore() {
	s, room := a.engine.scheduler(), a.room()
	if s == nil {
		return
	}
	// Without room the store is asked all the same: operators want to know what waits. The
	// oldest may be those that are left alone.
	ids, err := s.Due(a.life, max(room, 1)+a.paused())
	if err != nil {
		a.failed.report(a.engine.Logger, "the store does not say which runs can go on", err, a.life)
		return
	}
	a.failed.over()
	a.due.Store(int64(len(ids)))
	if room <= 0 {
		return
	}
	for _, id := range ids {
		a.consider(id)
	}
}

// looksAtDecisions reports whether decisions about runs that no process has are to be looked for.
// A store of several hosts has a run taken over whose host has ended, and then that host waits.
func (a *advancer) looksAtDecisions() bool {
	_, shared := a.engine.Store.(runstore.Shared)
	return !shared && !a.engine.Volatile() && a.engine.StoreID() != ""
}

// lookAtDecisions considers the runs that no process has and for which a person has decided, or
// has let the time pass.
func (a *advancer) lookAtDecisions() {
	e := a.engine
	list, err := e.ApprovalStore.List(a.life)
	if err != nil {
		a.failed.report(e.Logger, "the store of approvals does not say what was decided", err, a.life)
		return
	}
	retired := map[string]bool{}
	for _, q := range list {
		if q.Store != e.StoreID() || q.State == policy.StatePending && time.Now().Before(q.Expires) || e.runByID(q.RunID) != nil {
			continue
		}
		if !a.retired[q.ID] && a.isAwaited(q) {
			a.consider(q.RunID)
		} else {
			retired[q.ID] = true
		}
	}
	a.retired = retired
}

// isAwaited reports whether a stored run waits for an approval. A record that cannot be read
// waits for nothing.
func (a *advancer) isAwaited(q *policy.Approval) bool {
	rec, err := a.engine.Store.Get(a.life, q.RunID)
	if err != nil {
		return false
	}
	for _, c := range rec.Calls {
		if calls.AwaitedApproval(&c) == q.ID {
			return true
		}
	}
	return false
}

// LeftDue tells all hosts that share the store that a run can go on which this one is about to
// release. While the claim is held, the store has it taken over if this host dies.
func (e *Engine) LeftDue(id string) {
	if _, shared := e.Store.(runstore.Shared); !shared || e.scheduler() == nil {
		return // a store of one machine sees it in the record
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.Times.WakeTimeout)
	defer cancel()
	if last := e.lastWakes.Load(); last != nil {
		ctx = *last
	}
	if err := e.scheduler().Wake(ctx, id); err != nil {
		e.Logger.Error("other hosts were not told that a run can go on; a wait finds out", "run", id, "error", err)
	}
}

// Decided has a run go on that no process has, once a person has decided about a call of it.
func (e *Engine) Decided(ctx context.Context, runID string) {
	if e.scheduler() == nil || e.runByID(runID) != nil {
		return
	}
	if err := e.scheduler().Wake(context.WithoutCancel(ctx), runID); err != nil {
		e.Logger.Error("the host of a run was not told of a decision; it finds out by itself", "run", runID, "error", err)
	}
}
