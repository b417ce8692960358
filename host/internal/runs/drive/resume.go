package drive

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/output"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/namespaces"
)

// resume delivers what has settled into a worker with the run's guest and drives
// it on. Without anything to deliver in that time the run stays as it is.
func (d *driver) resume(ctx context.Context, rec *runstore.Record, wait time.Duration) *codemode.Result {
	r := d.run
	d.keptUntil = r.parkedUntil()
	d.limit(ctx, r.Settings.Timeout, wait)
	r.refreshView()
	if !d.unattended { // a program that has yielded goes on when its caller comes back
		r.Calls.SettleYields()
	}
	if rec == nil {
		var err error
		rec, err = r.env.Store.Get(ctx, r.ID)
		if err == nil && !r.Record.IsCurrent(rec) || errors.Is(err, runstore.ErrEnded) { // by another host
			r.Record.GiveUp(runstore.ErrFenced)
			return d.failed(fault.FromStore(runstore.ErrFenced))
		}
		if err != nil {
			return d.postponed(fault.FromStore(err))
		}
	}
	d.keptUntil = rec.Expires
	if f := r.env.UsedUp(r.Session); f != nil {
		return d.postponed(fault.Add(f, " The run is kept as it was."))
	}
	d.image, d.imageSize = rec.Image, len(rec.Image)
	r.replay.Take(rec)
	if denied := r.Calls.ChargeImage(len(rec.Image)); denied != nil {
		d.image = nil
		r.replay.Drop()
		return d.postponed(codemode.Errorf(codemode.CodeMemoryLimit, codemode.ReasonQuota, codemode.PhaseHost, "code mode run cannot go on now, and is kept as it was: %s. Wait for it again when other runs have ended.", denied))
	}
	return d.goOn()
}

// postponed is the result of a Wait that leaves the run as it was, with the output that the
// store has of it.
func (d *driver) postponed(f *codemode.Error) *codemode.Result {
	d.couldNot, d.carried = f, &d.output
	res := d.failure(d.run.stayParked(f))
	res.Output = nil
	return res
}

// Reopen makes a run that this process has parked active. It returns no record if this
// process has kept the claim all along. If this process has let go of the run, elsewhere
// is true: another one may have a later state of it.
func (r *Run) Reopen(ctx context.Context, s codemode.Session) (rec *runstore.Record, elsewhere bool, f *codemode.Error) {
	if f := fault.MayResume(r.Session, s); f != nil {
		return nil, false, f
	}
	if f := r.activate(); f != nil {
		// What became of it the store knows once it is gone: it may keep a result for
		// another wait, to which it cannot be delivered.
		if r.goes(ctx) || r.Record.GaveUp() != nil {
			return nil, true, nil
		}
		return nil, false, f
	}
	defer r.ContainReopen(&f)
	if cause := r.Record.GaveUp(); cause != nil {
		r.letGo(cause)
		return nil, true, nil
	}
	if r.Record.Claimed() {
		return nil, false, nil
	}
	err := r.Record.EnsureClaim(r.Background())
	if err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return nil, false, r.stayParked(fault.FromStore(err))
	}
	rec, err = r.env.Store.Get(ctx, r.ID)
	if errors.Is(err, runstore.ErrNotFound) && r.IsPastExpiry() { // a sweep was first
		err = runstore.ErrExpired
	}
	switch {
	case errors.Is(err, runstore.ErrNotFound), errors.Is(err, runstore.ErrExpired):
		r.finish(err)
		return nil, false, WithRun(fault.FromStore(err), r)
	case errors.Is(err, runstore.ErrEnded): // in another process
		r.letGo(err)
		return nil, false, fault.FromStore(err)
	case err != nil: // what cannot be read now may be read later
		return nil, false, r.stayParked(fault.FromStore(err))
	case r.Record.IsCurrent(rec):
		return rec, false, nil
	}
	r.letGo(runstore.ErrClaimed)
	return nil, true, nil
}

// Restore makes it the run of a record.
func (r *Run) Restore(rec *runstore.Record) *codemode.Error {
	r.Created = rec.Created
	r.Used.Digests = rec.Tools
	r.Effects.Revive(rec.Effects)
	r.Changed.Store(rec.Fingerprint != r.View().Catalog.Fingerprint())
	r.Observed.Parent, r.Observed.Trace = rec.ToolCallID, rec.Trace
	r.Record.Revive(rec)
	d := r.driver
	d.timerDue, d.carried, d.layers, d.engineID = rec.TimerDue, output.Carried(rec), run.StoredLayers(rec.Layers), rec.GuestEngine
	for id, b := range rec.Scopes {
		scope, err := namespaces.Decode(b, namespaces.Limits{})
		if err != nil {
			return fault.NotRestored("namespace %s: %v", id, err)
		}
		r.Scopes.Put(id, scope)
	}
	r.Calls.Revive(rec)
	if c := r.Calls.HeldProgram(); c != nil {
		if err := r.reviveHeld(c); err != nil {
			return fault.NotRestored("%v", err)
		}
	}
	return nil
}
