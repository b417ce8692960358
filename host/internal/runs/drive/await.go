package drive

import (
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/policy"
)

// woke says why a driver stopped waiting.
type woke int

// await blocks until there is a reason to run the guest again, or no reason can come. A
// guest that waits for long is evicted. While this goroutine waits, goroutines of calls may
// drive the guest on: see driver_lock.go.
func (d *driver) await() (woke, error) {
	r := d.run
	status := d.look()
	patience := d.patience(status.TellBy)
	defer patience.timer.Stop()
	timer, stop := alarm(!d.timerDue.IsZero(), time.Until(d.timerDue))
	defer stop()
	evict, stay := alarm(d.worker != nil, r.env.Times.EvictAfter)
	defer stay()
	closing := r.env.Parking
	if d.large {
		closing = nil
	}
	turns := d.turns
	for ; ; status = d.look() {
		switch {
		case r.Context.Err() != nil:
			return 0, r.Context.Err()
		case d.ctx.Err() != nil:
			return 0, d.ctx.Err()
		case timer == nil && !status.Pending:
			return wokeNothing, nil
		case calls.IsClosed(closing):
			return wokeClosing, nil
		case !d.ran && (status.Deliverable || d.timerIsDue()):
			return wokeReady, nil // however short the caller's time is, its run gets on
		case d.unattended && !d.ran:
			return wokeDeadline, nil // it continues once there is something to deliver
		case patience.over(status.TellBy):
			return wokeDeadline, nil
		case status.Deliverable:
			return wokeReady, nil
		case status.BlockedOnClient && !d.timerIsDue(), d.isCallersTurn(status):
			return wokeClient, nil
		}
		late, due := false, false
		d.releaseLock()
		select {
		case <-r.Wake:
		case <-d.over:
		case <-timer:
			due = true
		case <-patience.timer.C(): // over decides
		case <-d.leaves: // over decides
		case <-closing:
		case <-evict:
			late = true
		case <-d.ctx.Done():
		}
		d.reacquireLock()
		switch {
		case d.turns != turns: // the timers are of an earlier turn
			return wokeDriven, nil
		case due:
			return wokeReady, nil
		case late:
			if err := d.evict(); err != nil {
				return 0, err
			}
		}
	}
}

// alarm returns a timer, if it is to be set, and what stops it.
func alarm(set bool, after time.Duration) (<-chan time.Time, func() bool) {
	if !set {
		return nil, func() bool { return false }
	}
	t := time.NewTimer(after)
	return t.C, t.Stop
}

// isCallersTurn reports whether the run continues only once the caller has asked a person.
// Where a decision is there and on its way to its call, the run continues without.
func (g *guest) isCallersTurn(s calls.Status) bool {
	if !g.callerAsks || s.BlockedOnPeople == 0 || g.timerIsDue() {
		return false
	}
	list, err := policy.Select(g.ctx, g.run.env.ApprovalStore, policy.Filter{RunID: g.run.ID}, time.Now())
	return err == nil && len(list) >= s.BlockedOnPeople
}

const (
	wokeReady    woke = iota // there is something to deliver, or a guest timer is due
	wokeDeadline             // the caller is to have a result
	wokeNothing              // nothing will ever come
	wokeClient               // nothing will come until the client has answered
	wokeClosing              // the host shuts down
	wokeDriven               // the goroutine of a call has driven the guest on
)
