package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
)

// claimRetry is how often Wait looks whether another process has let go of a run
// whose calls it is still finishing.
const claimRetry = 20 * time.Millisecond

// Wait goes on with a suspended run. It returns like Exec; the run id stays the
// same for the whole run. A run belongs to its Session, and only one Wait at a
// time may have it.
func (h *Host) Wait(ctx context.Context, s Session, runID string) *Result {
	return h.WaitFor(ctx, s, runID, 0)
}

// WaitFor is Wait with a shorter time limit than Settings.Timeout. Zero means no
// change.
func (h *Host) WaitFor(ctx context.Context, s Session, runID string, timeout time.Duration) *Result {
	a := h.obs.act(ctx, toolWait, s)
	return a.end(h.wait(ctx, a, s, runID, timeout, nil, nil))
}

func (h *Host) wait(ctx context.Context, a *act, s Session, runID string, timeout time.Duration, turn *clientTools, d *Delivery) (res *Result) {
	defer h.containRefusal(&res)
	deadline := a.start.Add(h.settingsOf(s).timeout(timeout))
	if f := h.enter(); f != nil {
		return h.refused(f)
	}
	defer h.callers.leave()
	runID = strings.TrimSpace(runID)
	if f := h.checkRunID(s, runID); f != nil {
		return h.refused(f)
	}
	r, rec, f := h.take(ctx, s, runID, deadline, turn)
	if f != nil && f.Ended {
		var res *Result
		if res, f = h.delivered(ctx, s, runID, d); f == nil {
			return res
		}
	}
	if f != nil && f.Reason == ReasonStoreFailed {
		f = f.and(keptAsItWas)
	}
	if f != nil {
		return h.refused(h.goneFor(f, s, runID))
	}
	defer r.contain(&res)
	r.delivery = d
	r.begin(a.start)
	ctx = a.drives(ctx, r)
	r.tellResumed(ctx)
	ctx, stop := r.joined(ctx)
	defer stop()
	return r.resume(ctx, rec, deadline)
}

// keptAsItWas is said of a run that a store that fails still has.
const keptAsItWas = " The run is kept as it was: wait for it again once the store works."

// checkRunID refuses what cannot be a runId, with a hint at what it may be.
func (h *Host) checkRunID(s Session, id string) *failure {
	if id == "" {
		return failf(CodeInvalidInput, ReasonRunUnavailable, PhaseInput, "runId is empty. Give the runId of a result whose status is waiting.")
	}
	if isRunID(id) {
		return nil
	}
	f := ofStore(runstore.ErrNotFound)
	f.Text += fmt.Sprintf(" %q is not the id of one: give the runId of a result whose status is waiting, which is %s and 32 hexadecimal digits.", text.Cut(id, 64), runPrefix)
	if tool, err := h.sessionView(s).catalog.Resolve(processTool); err == nil {
		f.Text += fmt.Sprintf(" To look after a process that a shell tool has started, call %s inside exec.", tool.ID())
	}
	return f
}

// processTool is the usual name of the tool that looks after what a shell tool has
// started. Models confuse the ids of the two.
const processTool = "process"

// take makes a suspended run active for the caller. The record is nil when only
// this process can have changed the run since it was stored.
func (h *Host) take(ctx context.Context, s Session, id string, deadline time.Time, turn *clientTools) (*run, *runstore.Record, *failure) {
	h.mu.Lock()
	r := h.runs[id]
	h.mu.Unlock()
	if r == nil {
		return h.load(ctx, s, id, deadline, turn)
	}
	claimed, f := r.reactivate(s)
	if f != nil {
		return nil, nil, f
	}
	if claimed {
		return r, nil, nil
	}
	rec, err := h.store.Get(ctx, id)
	switch {
	case errors.Is(err, runstore.ErrNotFound), errors.Is(err, runstore.ErrExpired):
		r.finish(err)
		return nil, nil, ofStore(err).ofRun(r)
	case errors.Is(err, runstore.ErrEnded): // in another process
		r.release(err)
		r.dropClaim()
		return nil, nil, ofStore(err)
	case err != nil: // what cannot be read now may be read later
		r.stayParked()
		return nil, nil, ofStore(err)
	case rec.Generation == r.generation && !rec.Live:
		return r, rec, nil
	}
	// Another process has resumed and parked the run in the meantime.
	r.release(runstore.ErrClaimed)
	r.dropClaim()
	return h.load(ctx, s, id, deadline, turn)
}

// reactivate takes a run that this process has parked, and reports whether it
// had kept the claim all along.
func (r *run) reactivate(s Session) (claimed bool, _ *failure) {
	if f := mayResume(r.session.stored(), s.stored()); f != nil {
		return false, f
	}
	if f := r.activate(); f != nil {
		return false, f
	}
	r.mu.Lock()
	claimed = r.claim != nil
	r.mu.Unlock()
	if f := r.ensureClaim(); f != nil {
		r.stayParked()
		return false, f
	}
	return claimed, nil
}

// stayParked undoes activate: the run waits on as it did.
func (r *run) stayParked() {
	r.locked(func() {
		r.active = false
		r.expires = time.Now().Add(r.settings.SnapshotTTL)
		if r.expiry == nil { // it came from the store
			r.expiry = time.AfterFunc(r.settings.SnapshotTTL, r.expire)
		} else {
			r.expiry.Reset(r.settings.SnapshotTTL)
		}
	})
	r.dropIdleClaim()
}

// activate makes the caller the run's driver, once the run is parked.
func (r *run) activate() *failure {
	r.storeMu.Lock() // a park in progress ends first
	defer r.storeMu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return ofStore(runstore.ErrNotFound)
	case r.active:
		return ofStore(runstore.ErrClaimed)
	}
	r.active = true
	r.expiry.Stop()
	return nil
}

// load takes a run that another process, or this one in an earlier life, has
// parked in the store.
func (h *Host) load(ctx context.Context, s Session, id string, deadline time.Time, turn *clientTools) (*run, *runstore.Record, *failure) {
	rec, err := h.recordFor(ctx, s, id)
	if err != nil {
		return nil, nil, ofStore(err)
	}
	claim, err := h.claim(ctx, rec, deadline)
	if err != nil {
		return nil, nil, ofStore(err)
	}
	// Whoever held the claim may have changed or finished the run.
	rec, err = h.recordFor(ctx, s, id)
	if err != nil {
		claim.Release()
		return nil, nil, ofStore(err)
	}
	if rec.Live {
		return nil, nil, h.bury(ctx, rec, claim)
	}
	r, f := h.revive(ctx, s, rec, turn)
	if f == nil {
		f = h.checkComplete(r, rec)
	}
	if f == nil {
		r.claim = claim
		f = h.add(r)
	}
	if f != nil {
		claim.Release()
		return nil, nil, f.of(rec)
	}
	r.locked(r.chargeRevived)
	r.redrive()
	return r, rec, nil
}

// recordFor returns the record of a run of the session. What is known of one that has
// expired is in the error.
func (h *Host) recordFor(ctx context.Context, s Session, id string) (*runstore.Record, error) {
	rec, err := h.store.Get(ctx, id)
	if rec != nil {
		if f := mayResume(rec.Session, s.stored()); f != nil {
			return nil, f
		}
	}
	if err != nil {
		return nil, ofStore(err).of(rec)
	}
	return rec, nil
}

// bury forgets a run whose host died while the run went on, and says what is
// known of it. Nobody is driving it: its claim was free.
func (h *Host) bury(ctx context.Context, rec *runstore.Record, claim runstore.Claim) *failure {
	defer claim.Release()
	if err := h.store.Delete(ctx, rec.ID); err != nil {
		return ofStore(err).of(rec)
	}
	var unknown []string
	for _, c := range rec.Calls {
		if c.State == runstore.CallInFlight && c.Tool != "" {
			unknown = append(unknown, c.Tool)
		}
	}
	text := "code mode run is unavailable: its host stopped while the program was running. Tools had been called and may have taken effect; check before you start it again."
	if len(unknown) > 0 {
		text += " Without an answer: " + strings.Join(unknown, ", ") + "."
	}
	h.cancelApprovals(ctx, rec.Calls)
	f := failf(CodeInvalidInput, ReasonRunUnavailable, PhaseHost, "%s", text).of(rec)
	h.tellBuried(rec, f)
	return f
}

// claim waits for a process that is finishing calls of the run, and for no other.
func (h *Host) claim(ctx context.Context, rec *runstore.Record, deadline time.Time) (runstore.Claim, error) {
	tick := time.NewTicker(claimRetry)
	defer tick.Stop()
	for {
		claim, err := h.store.Claim(ctx, rec.ID)
		if !errors.Is(err, runstore.ErrClaimed) || !unfinished(rec.Calls) || time.Now().After(deadline) {
			return claim, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, runstore.ErrClaimed
		}
	}
}

func unfinished(calls []runstore.Call) bool {
	for _, c := range calls {
		if c.State == runstore.CallInFlight {
			return true
		}
	}
	return false
}

// revive makes an active run of a record.
func (h *Host) revive(ctx context.Context, s Session, rec *runstore.Record, turn *clientTools) (*run, *failure) {
	pool, f := h.poolOf(ctx, rec)
	if f != nil {
		return nil, f
	}
	to, err := h.restoreReach(s, rec, turn)
	if err != nil {
		return nil, failf(CodeInvalidInput, ReasonRestoreFailed, PhaseHost, "code mode run cannot be restored: %v", err)
	}
	r := h.makeRun(rec.ID, s, rec.Language, to)
	r.pool = pool
	r.used.digests = rec.Tools
	r.changed.Store(rec.Fingerprint != r.view().catalog.Fingerprint())
	r.created, r.timerDue = rec.Created, rec.TimerDue
	r.told.parent, r.told.trace = rec.ToolCallID, rec.Trace
	r.dispatched, r.counters = rec.Dispatched, rec.Counters
	r.generation, r.stored = rec.Generation, true
	r.carried = carriedOutput(rec)
	for name, state := range rec.Layers {
		r.layers = append(r.layers, wire.Layer{Name: name, State: state})
	}
	for id, b := range rec.Scopes {
		scope, err := namespaces.Decode(b, namespaces.Limits{})
		if err != nil {
			return nil, failf(CodeInvalidInput, ReasonRestoreFailed, PhaseHost, "code mode run cannot be restored: namespace %s: %v", id, err)
		}
		r.scopes[id] = scope
	}
	for _, stored := range rec.Calls {
		c := &call{Call: stored}
		r.calls[c.ID] = c
		r.lastID = max(r.lastID, c.ID)
		if err := r.reviveHeld(c); err != nil {
			return nil, failf(CodeInvalidInput, ReasonRestoreFailed, PhaseHost, "code mode run cannot be restored: %v", err)
		}
		r.dispatched = r.dispatched || wentOut(stored)
	}
	r.answered = slices.DeleteFunc(slices.Clone(rec.Answered), r.unsettled)
	r.locked(func() { r.setImaged(r.sortedCalls()) })
	return r, nil
}

// redrive brings the calls of a revived run to where the host that stopped left
// them. What was in flight is made again if that is harmless, else it rejects:
// nothing is silently repeated or lost.
func (r *run) redrive() {
	var started, lost []*call
	r.locked(func() { started, lost = r.redriveLocked() })
	r.tellInterrupted(lost)
	r.launch(started, r.journal())
}

func (r *run) redriveLocked() (started, lost []*call) {
	for _, c := range r.sortedCalls() {
		switch c.State {
		case runstore.CallSettled:
			r.inbox = append(r.inbox, c)
		case runstore.CallQueued, runstore.CallAsked, runstore.CallApproval:
			if c.isTool() || c.Method == methodExec {
				r.queue = append(r.queue, c)
			}
		case runstore.CallInFlight:
			if c.Method == methodExec {
				r.queue = append(r.queue, c) // approved; the program has not started
				continue
			}
			if tool, ok := r.view().catalog.ByID(c.Tool); ok && (tool.ReadOnly || tool.Idempotent || r.reach.client.asks(c.Tool)) {
				r.queue = append(r.queue, c)
			} else {
				r.settleLocked(c, nil, interrupted(c))
				r.inbox = append(r.inbox, c)
				lost = append(lost, c)
			}
		}
	}
	return r.pump(), lost
}

// resume delivers what has settled into a worker with the run's guest and drives
// it on. Without anything to deliver by the deadline the run stays as it is.
func (r *run) resume(ctx context.Context, rec *runstore.Record, deadline time.Time) *Result {
	l := r.leg(ctx, deadline)
	r.lookAgain()
	r.settleYields()
	if rec == nil {
		var err error
		if rec, err = r.h.store.Get(ctx, r.id); err != nil {
			res := r.failure(ofStore(err))
			r.stayParked()
			return res
		}
	}
	l.image, r.snapshot = rec.Image, len(rec.Image)
	if d := r.takeImage(len(rec.Image)); d != nil {
		res := r.failure(failf(CodeMemoryLimit, ReasonQuota, PhaseHost, "code mode run cannot go on now, and is kept as it was: %s. Wait for it again when other runs have ended.", d))
		r.stayParked()
		return res
	}
	return l.goOn()
}

// goOn waits until there is something to deliver to the guest, and drives it on.
func (l *leg) goOn() (res *Result) {
	defer l.contain(&res)
	if res := l.ready(); res != nil {
		return res
	}
	return l.drive(l.turn())
}

// unsettled reports whether a call of a revived run still waits. An answer that was
// given and is not in the journal was lost with its host, so it is asked for anew.
func (r *run) unsettled(id uint64) bool {
	c := r.calls[id]
	return c != nil && c.State != runstore.CallSettled
}
