package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
)

// claimRetry is how often Wait looks whether another process has let go of a run
// whose calls it is still finishing.
const claimRetry = 20 * time.Millisecond

// Wait is Host.WaitFor.
func (e *engine) Wait(ctx context.Context, s Session, runID string, timeout time.Duration) *Result {
	a := e.obs.Enter(ctx, toolWait, s)
	return a.End(e.wait(ctx, a, s, runID, timeout, nil, nil))
}

func (e *engine) wait(ctx context.Context, a *observe.Entry, s Session, runID string, timeout time.Duration, turn *clientTools, d *Delivery) (res *Result) {
	defer e.containRefusal(&res)
	deadline := a.Start.Add(e.settingsOf(s).CallTimeout(timeout))
	if f := e.enter(); f != nil {
		return refused(f)
	}
	defer e.driving.leave()
	runID = strings.TrimSpace(runID)
	if f := e.checkRunID(s, runID); f != nil {
		return refused(f)
	}
	r, rec, f := e.resumable(ctx, s, runID, deadline, turn)
	if f != nil && errors.Is(f, runstore.ErrEnded) {
		var res *Result
		if res, f = e.delivered(ctx, s, runID, d); f == nil {
			return res
		}
	}
	if f != nil && f.Reason == ReasonStoreFailed {
		f = and(f, keptAsItWas)
	}
	if f != nil {
		return refused(e.explainMissing(f, s, runID))
	}
	defer r.contain(&res)
	r.begin(a.Start).delivery = d
	ctx = a.Drive(ctx, r.observed)
	r.observed.Resumed(ctx, r.driver.started)
	ctx, stop := r.joined(ctx)
	defer stop()
	return r.driver.resume(ctx, rec, deadline)
}

// keptAsItWas is said of a run that a store that fails still has.
const keptAsItWas = " The run is kept as it was: wait for it again once the store works."

// checkRunID refuses what cannot be a runId, with a hint at what it may be.
func (e *engine) checkRunID(s Session, id string) *failure {
	if id == "" {
		return failf(CodeInvalidInput, ReasonRunUnavailable, PhaseInput, "runId is empty. Give the runId of a result whose status is waiting.")
	}
	if isRunID(id) {
		return nil
	}
	f := ofStore(runstore.ErrNotFound)
	f.Message += fmt.Sprintf(" %q is not the id of one: give the runId of a result whose status is waiting, which is %s and 32 hexadecimal digits.", text.Cut(id, 64), runPrefix)
	if tool, err := e.views.sessionView(s).catalog.Resolve(processTool); err == nil {
		f.Message += fmt.Sprintf(" To look after a process that a shell tool has started, call %s inside exec.", tool.ID())
	}
	return f
}

// processTool is the usual name of the tool that looks after what a shell tool has
// started. Models confuse the ids of the two.
const processTool = "process"

// recordFor returns the record of a run of the session. What is known of one that has
// expired is in the error.
func (e *engine) recordFor(ctx context.Context, s Session, id string) (*runstore.Record, error) {
	rec, err := e.store.Get(ctx, id)
	if rec != nil {
		if f := mayResume(rec.Session, s); f != nil {
			return nil, f
		}
	}
	if err != nil {
		return nil, withRecord(ofStore(err), rec)
	}
	return rec, nil
}

// resumable makes a suspended run active for the caller. The record is nil when only
// this process can have changed the run since it was stored.
func (e *engine) resumable(ctx context.Context, s Session, id string, deadline time.Time, turn *clientTools) (*run, *runstore.Record, *failure) {
	r := e.runByID(id)
	if r == nil {
		return e.load(ctx, s, id, deadline, turn)
	}
	rec, elsewhere, f := r.reopen(ctx, s)
	if elsewhere { // another process has resumed and parked the run in the meantime
		return e.load(ctx, s, id, deadline, turn)
	}
	return r, rec, f
}

// runByID returns the run of this process with that id, or nil.
func (e *engine) runByID(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// reopen makes a run that this process has parked active. It returns no record if this
// process has kept the claim all along. If another process has a later state of the
// run, elsewhere is true and this process has let go of the run.
func (r *run) reopen(ctx context.Context, s Session) (rec *runstore.Record, elsewhere bool, f *failure) {
	if f := mayResume(r.session, s); f != nil {
		return nil, false, f
	}
	if f := r.activate(); f != nil {
		return nil, false, f
	}
	defer r.containReopen(&f)
	if r.record.claimed() {
		return nil, false, nil
	}
	if err := r.record.ensureClaim(r.background()); err != nil {
		return nil, false, r.stayParked(ofStore(err))
	}
	rec, err := r.engine.store.Get(ctx, r.id)
	switch {
	case errors.Is(err, runstore.ErrNotFound), errors.Is(err, runstore.ErrExpired):
		r.finish(err)
		return nil, false, withRun(ofStore(err), r)
	case errors.Is(err, runstore.ErrEnded): // in another process
		r.letGo(err)
		return nil, false, ofStore(err)
	case err != nil: // what cannot be read now may be read later
		return nil, false, r.stayParked(ofStore(err))
	case r.record.isCurrent(rec):
		return rec, false, nil
	}
	r.letGo(runstore.ErrClaimed)
	return nil, true, nil
}

// activate makes the caller the run's driver, once the run is parked.
func (r *run) activate() (f *failure) {
	r.record.exclusive(func() { // a park in progress ends first
		switch {
		case r.moveTo(stateActive):
		case r.isOver():
			f = ofStore(runstore.ErrNotFound)
		default:
			f = ofStore(runstore.ErrClaimed)
		}
	})
	return f
}

// stayParked undoes activate because of f: the run waits on as it did. A run that was
// aborted meanwhile ends instead.
func (r *run) stayParked(f *failure) *failure {
	if r.markParked(time.Now().Add(r.settings.SnapshotTTL), r.imageBytes) {
		return f
	}
	aborted := r.aborted()
	if err := r.record.ensureClaim(r.background()); err != nil {
		r.letGo(aborted)
	} else {
		r.finish(context.Cause(r.ctx))
	}
	return aborted
}

// resume delivers what has settled into a worker with the run's guest and drives
// it on. Without anything to deliver by the deadline the run stays as it is.
func (d *driver) resume(ctx context.Context, rec *runstore.Record, deadline time.Time) *Result {
	r := d.run
	d.limit(ctx, deadline)
	r.refreshView()
	r.calls.settleYields()
	if rec == nil {
		var err error
		if rec, err = r.engine.store.Get(ctx, r.id); err != nil {
			return d.postponed(ofStore(err))
		}
	}
	d.image, d.imageSize = rec.Image, len(rec.Image)
	if denied := r.calls.chargeImage(len(rec.Image)); denied != nil {
		return d.postponed(failf(CodeMemoryLimit, ReasonQuota, PhaseHost, "code mode run cannot go on now, and is kept as it was: %s. Wait for it again when other runs have ended.", denied))
	}
	return d.goOn()
}

// postponed is the result of a Wait that leaves the run as it was.
func (d *driver) postponed(f *failure) *Result {
	return d.failure(d.run.stayParked(f))
}

// goOn waits until there is something to deliver to the guest, and drives it on.
func (d *driver) goOn() (res *Result) {
	defer d.contain(&res)
	if res := d.ready(); res != nil {
		return res
	}
	return d.drive(d.turn())
}
