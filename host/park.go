package host

import (
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// suspend parks the run with its guest. The calls of its last turn, which have
// not started, start once the store knows of them. All calls go on; their answers
// wait in the inbox and, for a store that outlives the host, in the journal.
func (l *leg) suspend(fresh ...*call) *Result {
	r := l.run
	image, err := l.still()
	if err != nil {
		return r.failed(l.blame(err))
	}
	res, started, f := r.park(image, fresh)
	switch {
	case f == nil:
		r.launch(started, nil)
		return res
	case f.Reason == ReasonStoreFailed && r.leave(f):
		return r.failure(f.and(keptAsItWas))
	}
	return r.failed(f)
}

// leave lets go of a run whose newest state could not be stored and of which the store
// has a true account: a later wait goes on from there, as after the end of a host. It
// reports whether there is one.
func (r *run) leave(cause error) bool {
	r.storeMu.Lock()
	kept := r.keeps() && !r.h.volatile()
	r.storeMu.Unlock()
	if kept {
		r.release(cause)
		r.dropClaim()
		r.over()
	}
	return kept
}

// waiting is the result of a run that is about to be parked. Its telemetry is what the
// store has: the next result goes on from there.
func (r *run) waiting(t Telemetry) *Result {
	calls, reason := r.pending()
	r.tellSuspended(reason)
	return &Result{
		Status:           StatusWaiting,
		RunID:            r.id,
		Reason:           reason,
		PendingToolCalls: calls,
		Output:           r.emitted(),
		Telemetry:        t,
	}
}

// park stores the run with its guest's image and lets go of it. It returns the
// result for the caller of Exec or Wait, made while nobody else can have the run,
// and the calls to launch.
func (r *run) park(image []byte, fresh []*call) (res *Result, started []*call, _ *failure) {
	r.storeMu.Lock()
	defer r.storeMu.Unlock()
	if f := r.ensureClaim(); f != nil {
		return nil, nil, f
	}
	var full *failure
	if r.locked(func() { full = r.maySuspend() }); full != nil {
		return nil, nil, full
	}
	ttl := r.settings.SnapshotTTL
	r.snapshot = len(image)
	if r.ctx.Err() != nil { // aborted, and it is this driver that ends the run
		return nil, nil, r.aborted()
	}
	var (
		counted Telemetry
		rec     *runstore.Record
	)
	r.locked(func() {
		counted = r.telemetryAt(r.lap())
		started = r.enqueue(fresh)
		rec = r.describe(image, time.Now().Add(ttl))
		r.expires, r.imageBytes = rec.Expires, len(image)
	})
	if err := r.put(rec); err != nil {
		r.h.calls.leaveN(len(started))
		return nil, nil, r.notStored(err)
	}
	if !r.h.volatile() { // the image is on disk
		_ = r.chargeImage(0) // less is never refused
	}
	res = r.waiting(counted)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		r.h.calls.leaveN(len(started))
		return nil, nil, r.aborted()
	}
	r.active = false
	r.expiry = time.AfterFunc(ttl, r.expire)
	if r.idle() {
		r.dropClaimLocked()
	}
	return res, started, nil
}

// notStored is the failure of a run that the store did not take.
func (r *run) notStored(err error) *failure {
	f := ofStore(err)
	if f.Reason == ReasonTooManySuspended {
		return f.and(" All hosts of the store keep %d (tools.codeMode.maxSuspendedRuns). Wait for those that there are, or abort them.", r.h.settings.MaxSuspended)
	}
	return f
}

// ensureClaim takes the claim for this process, so that no other one resumes the
// run while calls of it are in flight here.
func (r *run) ensureClaim() *failure {
	r.mu.Lock()
	held := r.claim != nil
	r.mu.Unlock()
	if held {
		return nil
	}
	c, err := r.h.store.Claim(r.background(), r.id)
	if err != nil {
		return ofStore(err)
	}
	r.mu.Lock()
	r.claim = c
	r.mu.Unlock()
	return nil
}

// expire ends a parked run that nobody came back for. Another process that shares
// the store may have resumed it: then it is only forgotten here.
func (r *run) expire() {
	r.h.guard(r.expired)
}

func (r *run) expired() {
	r.mu.Lock()
	parked := !r.active && !r.ended
	if parked {
		r.active = true // nobody else resumes it now
	}
	r.mu.Unlock()
	if !parked {
		return
	}
	if f := r.ensureClaim(); f != nil || r.changedElsewhere() {
		r.release(runstore.ErrExpired)
		r.dropClaim()
		return
	}
	r.finish(runstore.ErrExpired)
}

// changedElsewhere reports whether the store has a later state of the run than
// this process. The caller holds the claim.
func (r *run) changedElsewhere() bool {
	rec, err := r.h.store.Get(r.background(), r.id)
	return errors.Is(err, runstore.ErrEnded) || err == nil && (rec.Generation != r.generation || rec.Live)
}
