package upkeep

import (
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// Which runs can continue is known in three places. What this process has parked, it knows
// itself. What no process has, the store tells. And where a process has ended while a person
// was asked, the store of approvals has the decision.

// watch returns what tells of runs that were woken, and of decisions.
func (a *Advancer) watch() (woken <-chan string, decided <-chan struct{}) {
	if s := a.env.Scheduler(); s != nil {
		woken = s.Watch(a.life)
	}
	if a.looksAtDecisions() {
		decided = a.env.ApprovalStore.Watch(a.life)
	}
	return woken, decided
}

// lookAtStore considers the runs of the store that can continue and that no process has.
func (a *Advancer) lookAtStore() {
	s, room := a.env.Scheduler(), a.room()
	if s == nil {
		return
	}
	// Without room the store is asked all the same: operators want to know what waits. The
	// oldest may be those that are left alone.
	ids, err := s.Due(a.life, max(room, 1)+a.paused())
	if err != nil {
		a.failed.report(a.env.Logger, "the store does not say which runs can go on", err, a.life)
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

// looksAtDecisions reports whether decisions about runs that no process has are to be looked
// for. A store of several hosts has a run taken over after its host has ended, and then the
// new host waits.
func (a *Advancer) looksAtDecisions() bool {
	_, shared := a.env.Store.(runstore.Shared)
	return !shared && !a.env.Volatile() && a.env.StoreID() != ""
}

// lookAtDecisions considers the runs that no process has and for which a person has decided, or
// has let the time pass.
func (a *Advancer) lookAtDecisions() {
	e := a.env
	list, err := e.ApprovalStore.List(a.life)
	if err != nil {
		a.failed.report(e.Logger, "the store of approvals does not say what was decided", err, a.life)
		return
	}
	retired := map[string]bool{}
	for _, q := range list {
		if q.Store != e.StoreID() || q.State == policy.StatePending && time.Now().Before(q.Expires) || a.runs.ByID(q.RunID) != nil {
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
func (a *Advancer) isAwaited(q *policy.Approval) bool {
	rec, err := a.env.Store.Get(a.life, q.RunID)
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
