package drive

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// An unattended driver is one that an advancer has started. It differs from that of a
// Wait where there is no one to take a result: output is kept, the caller has still to hear of
// what it is to answer, and the time for which the run is kept does not start again.

// expiresAfter is when a run expires that is suspended at a time, or goes on until then,
// unless its calls ask people: see calls.Table.KeepUntil. Callers prolong the life of a run, and
// its timers do; without a caller they do so for as long as a run is kept at most, so that no
// timer that is set again and again keeps one for ever.
func (d *driver) expiresAfter(at time.Time) time.Time {
	ttl := d.run.Settings.SnapshotTTL
	if !d.unattended {
		return calls.Later(at, d.timerDue).Add(ttl)
	}
	if d.timerDue.IsZero() {
		return d.keptUntil
	}
	longest := d.run.Created.Add(time.Duration(codemode.Ranges().SnapshotTTL.Max) * time.Second)
	if due := d.timerDue.Add(ttl); due.Before(longest) {
		return calls.Later(d.keptUntil, due)
	}
	return calls.Later(d.keptUntil, longest)
}

// carry keeps what the run has put out for the next driver of this process, if there is no one
// to take it now.
func (d *driver) carry() {
	if d.unattended || d.callerIsGone() {
		d.carried = &d.output
	}
}

// isCarried reports whether the output is left to the next result.
func (d *driver) isCarried() bool { return d.carried != nil }

// callerIsGone reports whether the caller has left its run, as one does whose connection has
// broken. A caller whose time is over has left it, too, and takes a result.
func (d *driver) callerIsGone() bool {
	caller, leaves := run.CallerOf(d.ctx)
	return calls.IsClosed(leaves) && !errors.Is(context.Cause(caller), context.DeadlineExceeded)
}

// stay is the result of an unattended driver whose guest has not run: the store has the run
// as it is, with its image and its log.
func (d *driver) stay() *codemode.Result {
	d.carry()
	d.dropImage()
	d.run.replay.Drop()
	calls, reason := d.run.Calls.Describe(d.run.Settings.MaxOutput)
	d.run.Observed.Suspended(reason, d.run.usage())
	if !d.run.MarkParked(d.keptUntil, d.imageSize) {
		return d.failure(d.run.EndUnparked())
	}
	return &codemode.Result{Status: codemode.StatusWaiting, RunID: d.run.ID, Reason: reason, PendingToolCalls: calls}
}

// mayGoOnLarge reports whether an unattended run goes on because its guest is too large to be
// suspended. It gets as much time as a caller would give it.
func (d *driver) mayGoOnLarge() bool {
	if !d.unattended || !d.ran || d.large || calls.IsClosed(d.leaves) {
		return false
	}
	if _, err := d.snapshot(); !fault.TooLarge(err) {
		return false
	}
	d.large = true
	d.deadline = d.run.env.Clock.Now().Add(d.run.Settings.WaitTime(0))
	return true
}
