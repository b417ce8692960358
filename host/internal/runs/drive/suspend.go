package drive

import (
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
)

// suspend parks the run with its guest. The calls of its last turn start once the store
// knows them. All calls continue; their answers wait in the inbox and, for a store that
// outlives the host, in the journal.
func (d *driver) suspend(fresh ...*calls.Entry) (res *codemode.Result) {
	r := d.run
	if d.unattended && !d.ran {
		return d.stay()
	}
	if f := d.mayBePromised(); f != nil {
		return d.failed(f)
	}
	if !r.Record.IsVolatile() {
		r.env.Home.KeepBuild(r.Background(), r.pool)
	}
	image, err := d.snapshot()
	if err != nil {
		return d.failed(d.failureFrom(err))
	}
	var (
		started []*calls.Entry
		f       *codemode.Error
	)
	park := func() { res, started, f = d.park(image, fresh) }
	start := time.Now()
	r.Record.Exclusive(park)
	if d.mayFindRoom(f, start) {
		r.Record.Exclusive(park)
	}
	switch {
	case f == nil:
		r.env.KeptPrograms.Keep(r.Run.Run, false)
		r.launch(started, nil)
		r.env.Hint(r.ID)
		res.PendingApprovals = r.PendingApprovals()
		return res
	case f.Reason == codemode.ReasonStoreFailed && r.leave(f):
		return d.failure(fault.Add(f, fault.KeptAsItWas))
	}
	return d.failed(f)
}

// mayBePromised refuses to suspend a run for the first time while the store takes no writes.
// The newest state of a run that the store has is worth more attempts.
func (d *driver) mayBePromised() (f *codemode.Error) {
	d.run.Record.Exclusive(func() {
		if !d.run.Record.IsStored() {
			f = d.run.env.StoreAway(d.run.Background())
		}
	})
	return f
}

// mayFindRoom reports whether a run that was refused a place since a moment may have one
// now: runs that have moved take no places any more.
func (d *driver) mayFindRoom(f *codemode.Error, since time.Time) bool {
	var denied *quota.Denied
	if f == nil || !errors.As(f.Err, &denied) {
		return false
	}
	moved, err := d.run.env.Home.MakeRoom(d.run.Background(), since)
	if err != nil {
		d.run.env.Logger.Error("the store does not say which suspended runs it has; runs of other processes may take places here", "error", err)
	}
	return moved
}

// park stores the run with its guest's image and parks it. It returns the result for
// the caller of Exec or Wait, made while no other goroutine can have the run, and the
// calls to launch. The caller runs it in record.exclusive.
func (d *driver) park(image []byte, fresh []*calls.Entry) (res *codemode.Result, started []*calls.Entry, _ *codemode.Error) {
	r := d.run
	if err := r.Record.EnsureClaim(r.Background()); err != nil {
		return nil, nil, fault.FromStore(err)
	}
	isClosing := r.env.Home.IsClosing()
	if f := r.Calls.Costs.MayBeSuspended(len(image), isClosing); f != nil {
		return nil, nil, f
	}
	d.imageSize = len(image)
	d.carry()
	if r.Context.Err() != nil { // aborted, and it is this driver that ends the run
		return nil, nil, r.Aborted()
	}
	limit, expires := int(r.env.Settings.MaxSuspended), d.expiresAfter(time.Now())
	if isClosing {
		limit = 0
	}
	stored, started, err := r.Record.Suspend(r.Background(), image, fresh, limit, func(rec *runstore.Record) {
		rec.Counters, rec.Expires = d.lap(), expires
		if d.carried != nil { // no result has it
			d.output.Store(rec)
		}
	})
	if err != nil {
		r.env.Performing.LeaveN(len(started))
		return nil, nil, d.notStored(err)
	}
	d.dropImage() // the store has it
	res = d.waiting(stored.Counters)
	r.replay.Drop()                         // it, too, is in the store
	if !r.MarkParked(expires, len(image)) { // aborted by now
		r.env.Performing.LeaveN(len(started))
		return nil, nil, r.Aborted()
	}
	return res, started, nil
}

// notStored is the failure of a run that the store did not take.
func (d *driver) notStored(err error) *codemode.Error {
	f := fault.FromStore(err)
	if f.Reason == codemode.ReasonTooManySuspended {
		return fault.Add(f, " All hosts of the store keep %d (tools.codeMode.maxSuspendedRuns). Wait for those that there are, or abort them.", d.run.env.Settings.MaxSuspended)
	}
	return f
}

// stay returns the result of an unattended driver when its guest has not run: the store has
// the run as it is, with its image and its log.
func (d *driver) stay() *codemode.Result {
	d.carry()
	d.dropImage()
	d.run.replay.Drop()
	calls, reason := d.run.Calls.Describe(d.run.Settings.MaxOutput)
	d.run.Observed.Suspended(reason, d.usage())
	if !d.run.MarkParked(d.keptUntil, d.imageSize) {
		return d.failure(d.run.EndUnparked())
	}
	return &codemode.Result{Status: codemode.StatusWaiting, RunID: d.run.ID, Reason: reason, PendingToolCalls: calls}
}

// mayGoOnLarge reports whether an unattended run continues because its guest is too large to
// be suspended. It gets as much time as a caller would give it.
func (g *guest) mayGoOnLarge() bool {
	if !g.unattended || !g.ran || g.large || calls.IsClosed(g.leaves) {
		return false
	}
	if _, err := g.snapshot(); !fault.TooLarge(err) {
		return false
	}
	g.large = true
	g.deadline = g.run.env.Clock.Now().Add(g.run.Settings.WaitTime(0))
	return true
}
