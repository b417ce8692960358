package drive

import (
	"encoding/hex"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// suspend parks the run with its guest. The calls of its last turn start once the store
// knows them. All calls go on; their answers wait in the inbox and, for a store that
// outlives the host, in the journal.
func (d *driver) suspend(fresh ...*calls.Entry) (res *codemode.Result) {
	r := d.run
	if d.unattended && !d.ran {
		return d.stay()
	}
	if f := r.mayBePromised(); f != nil {
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
	if r.mayFindRoom(f, start) {
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
func (r *Run) mayBePromised() (f *codemode.Error) {
	r.Record.Exclusive(func() {
		if !r.Record.IsStored() {
			f = r.env.StoreAway(r.Background())
		}
	})
	return f
}

// mayFindRoom reports whether a run that was refused a place since a moment may have one
// now: runs that have moved take no places any more.
func (r *Run) mayFindRoom(f *codemode.Error, since time.Time) bool {
	var denied *quota.Denied
	if f == nil || !errors.As(f.Err, &denied) {
		return false
	}
	moved, err := r.env.Home.LetGoOfMoved(r.Background(), since)
	if err != nil {
		r.env.Logger.Error("the store does not say which suspended runs it has; those of other processes may take places here", "error", err)
	}
	return moved
}

// leave lets go of a run whose newest state could not be stored, if the store has a true
// account of it: a later Wait goes on from there, as after the end of a host. It
// reports whether the store has one.
func (r *Run) leave(cause error) (kept bool) {
	r.Record.Exclusive(func() { kept = r.Record.Valid() && !r.Record.IsVolatile() })
	if kept {
		r.letGo(cause)
	}
	return kept
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
	if f := r.Calls.MayBeSuspended(len(image), isClosing); f != nil {
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
		if d.isCarried() { // no result has it
			d.output.Store(rec)
		}
	})
	if err != nil {
		r.env.Performing.LeaveN(len(started))
		return nil, nil, r.notStored(err)
	}
	d.dropImage() // the store has it
	res = d.waiting(stored.Counters)
	r.replay.Drop()                         // it, too, is in the store
	if !r.MarkParked(expires, len(image)) { // aborted meanwhile
		r.env.Performing.LeaveN(len(started))
		return nil, nil, r.Aborted()
	}
	return res, started, nil
}

// MarkParked makes the run parked, unless it has been cancelled: then its driver ends
// it.
func (r *Run) MarkParked(expires time.Time, imageBytes int) bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Context.Err() != nil || !r.Move(run.Parked) {
		return false
	}
	expires = calls.Later(expires, r.Calls.KeepUntil())
	r.Expires, r.ImageBytes = expires, imageBytes
	if left := time.Until(expires); r.Expiry == nil {
		r.Expiry = time.AfterFunc(left, r.expire)
	} else {
		r.Expiry.Reset(left)
	}
	if r.Calls.Idle() {
		r.Record.DropClaim()
	}
	return true
}

// notStored is the failure of a run that the store did not take.
func (r *Run) notStored(err error) *codemode.Error {
	f := fault.FromStore(err)
	if f.Reason == codemode.ReasonTooManySuspended {
		return fault.Add(f, " All hosts of the store keep %d (tools.codeMode.maxSuspendedRuns). Wait for those that there are, or abort them.", r.env.Settings.MaxSuspended)
	}
	return f
}

// describe fills in what the run is.
func (r *Run) describe(rec *runstore.Record) {
	build := r.pool.BuildID()
	rec.GuestBuild = hex.EncodeToString(build[:])
	_, rec.GuestEngine = r.pool.Engine()
	rec.Session, rec.Language, rec.Created = r.Session, r.Language, r.Created
	rec.Fingerprint, rec.Owners = r.View().Catalog.Fingerprint(), r.View().Owners()
	rec.TimerDue, rec.Layers = r.driver.timerDue, run.IsolationOf(r.driver.layers).Layers
	rec.ToolCallID, rec.Trace = r.Observed.Parent, r.Observed.Trace
	rec.ClientTools, rec.Rules = r.Access.Client.Stored(), r.Access.StoredRules()
	rec.Tools, rec.Origin, rec.Effects = r.Used.Stored(), r.env.Origin, r.Effects.Unwritten()
	r.replay.Put(rec)
	rec.Scopes = r.Scopes.Encoded(func(id string, err error) {
		r.env.Logger.Error("a namespace scope was not stored", "run", r.ID, "namespace", id, "error", err)
	})
}

// expire ends a parked run that was not waited for in time. Another process that shares
// the store may have resumed it: then this process only forgets it.
func (r *Run) expire() { r.ExpireAt(time.Time{}) }

// ExpireAt is expire at a time that counts although the store, whose clock decides
// otherwise, has not come to it.
func (r *Run) ExpireAt(now time.Time) {
	if !r.MoveTo(run.Active) {
		return
	}
	defer r.containExpiry()
	var stored *runstore.Record
	err := r.Record.EnsureClaim(r.Background())
	if err == nil {
		stored, err = r.env.Store.Get(r.Background(), r.ID)
	}
	if err == nil && r.Record.IsCurrent(stored) && now.After(stored.Expires) {
		err = runstore.ErrExpired
	}
	switch {
	case errors.Is(err, runstore.ErrClaimed), err == nil && r.Record.IsCurrent(stored):
		r.expireAgain()
	case errors.Is(err, runstore.ErrNotFound), errors.Is(err, runstore.ErrExpired), errors.Is(err, runstore.ErrCorrupt), errors.Is(err, runstore.ErrFormat):
		r.finish(runstore.ErrExpired)
	default: // the store, which cannot be asked or has a later state, ends it in time
		r.letGo(runstore.ErrExpired)
	}
}

// expireAgain parks a run whose time is over while the store has it still: by the clock of
// the store its time is not over, or another has the claim. That is a sweep that deletes it,
// or a process that has resumed it. The store tells which once the claim is free.
func (r *Run) expireAgain() {
	r.Mu.Lock()
	parked := r.Context.Err() == nil && r.Move(run.Parked)
	if parked {
		r.Expiry.Reset(r.env.Times.ClaimedAgain)
		if r.Calls.Idle() {
			r.Record.DropClaim()
		}
	}
	r.Mu.Unlock()
	if !parked {
		r.EndUnparked()
	}
}

// parkedUntil is when the run expires that this process has parked last.
func (r *Run) parkedUntil() time.Time {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Expires
}

// IsPastExpiry reports whether the time of the parked run is over.
func (r *Run) IsPastExpiry() bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return !time.Now().Before(r.Expires)
}
