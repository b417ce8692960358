package drive

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
)

// Wait drives a run that this host has made active. The result is delivered by d, if that is not nil.
func (r *Run) Wait(ctx context.Context, a *observe.Entry, rec *runstore.Record, wait time.Duration, d *Delivery) (res *codemode.Result) {
	defer r.contain(&res)
	r.NewDriver(a.Start).delivery = d
	ctx = a.Drive(ctx, r.Observed)
	r.Observed.Resumed(ctx, r.driver.started)
	ctx, stop := r.Joined(ctx)
	defer stop()
	r.DrivenBy(ctx)
	return r.driver.resume(ctx, rec, wait)
}

// resume delivers what has settled into a worker with the run's guest and drives
// it on. Without anything to deliver in that time the run stays as it is.
func (d *driver) resume(ctx context.Context, rec *runstore.Record, wait time.Duration) *codemode.Result {
	r := d.run
	d.keptUntil = r.ParkedUntil()
	d.limit(ctx, r.Settings.Timeout, wait)
	d.refreshView()
	if !d.unattended { // a program that has yielded continues when its caller comes back
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
	if denied := r.Calls.Costs.ChargeImage(len(rec.Image)); denied != nil {
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
// process has kept the claim all along. If this process has released the run, elsewhere is
// true: another one may have a later state of it.
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

// refreshView resolves the view of a run that resumes.
func (c *caller) refreshView() {
	r := c.run
	before := r.View()
	if err := r.env.Views.ResolveView(r.Access); err != nil {
		r.env.Logger.Error("the tools of a resumed run were not brought up to date", "run", r.ID, "error", err)
		return
	}
	now := r.View()
	if now == before || now.Catalog.Fingerprint() == before.Catalog.Fingerprint() {
		return
	}
	r.Changed.Store(true)
}

// DriveUnattended drives a run that this process has made active on behalf of no caller. It
// reports whether the guest ran, or had nothing to run for; if not, the failure may say why.
// Where the run ends, the store keeps its result.
func (r *Run) DriveUnattended(ctx context.Context, rec *runstore.Record, kept *Delivery) (advanced bool, _ *codemode.Error) {
	d := r.unattended(ctx, rec, kept)
	if cause := r.Record.GaveUp(); cause != nil {
		return false, fault.FromStore(cause)
	}
	return d.ran || d.couldNot == nil && !r.CanAdvance(), d.couldNot
}

func (r *Run) unattended(ctx context.Context, rec *runstore.Record, kept *Delivery) (d *driver) {
	var res *codemode.Result
	a := r.env.Observer.Enter(ctx, toolAdvance, r.Session)
	defer func() { a.End(res) }()
	defer r.contain(&res)
	d = r.NewDriver(a.Start)
	d.unattended, d.delivery = true, kept
	ctx = a.Drive(ctx, r.Observed)
	r.Observed.Resumed(ctx, d.started)
	ctx, stop := r.Joined(ctx)
	defer stop()
	res = d.resume(ctx, rec, r.env.Times.AdvancePatience)
	return d
}

// toolAdvance is what observers see in the place of the model's own tool.
const toolAdvance = "advance"
