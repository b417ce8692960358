package drive

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// activate makes the caller the run's driver, once the run is parked.
func (r *Run) activate() (f *codemode.Error) {
	r.Record.Exclusive(func() { // a park in progress ends first
		switch {
		case r.MoveTo(run.Active):
		case r.IsOver():
			f = fault.FromStore(runstore.ErrNotFound)
		default:
			f = fault.AlreadyDriven()
		}
	})
	return f
}

// stayParked undoes activate because of f: the run waits on as it did. A run that was
// aborted since activate ends instead.
func (r *Run) stayParked(f *codemode.Error) *codemode.Error {
	if r.MarkParked(r.driver.expiresAfter(time.Now()), r.ImageBytes) {
		return f
	}
	return r.EndUnparked()
}

// EndUnparked ends a run that was to be parked and has been cancelled, and says what has
// become of it. A host that closes leaves the record to the next one, and one that does not
// get the claim to the one that has it.
func (r *Run) EndUnparked() *codemode.Error {
	cause := context.Cause(r.Context)
	if errors.Is(cause, codemode.ErrClosed) {
		r.letGo(cause)
		return r.Aborted()
	}
	if err := r.Record.EnsureClaim(r.Background()); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		r.letGo(err)
		return fault.FromStore(err)
	}
	r.finish(cause)
	if f := r.notEnded(); f != nil {
		return f
	}
	return r.Aborted()
}

// MarkParked makes the run parked, unless it has been cancelled: then its driver ends
// it.
func (r *Run) MarkParked(expires time.Time, imageBytes int) bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Context.Err() != nil || !r.Move(run.Parked) {
		return false
	}
	expires = calls.Later(expires, r.Calls.Questions.KeepUntil())
	r.Expires, r.ImageBytes = expires, imageBytes
	if left := time.Until(expires); r.Expiry == nil {
		r.Expiry = time.AfterFunc(left, func() { r.ExpireAt(time.Time{}) })
	} else {
		r.Expiry.Reset(left)
	}
	if r.Calls.Idle() {
		r.Record.DropClaim()
	}
	return true
}

// ExpireAt ends a parked run that was not waited for in time. Another process that shares the
// store may have resumed it: then this process only forgets it. The clock of the store decides;
// a test names a later time.
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

// expireAgain parks a run when its time is over and the store has it still: by the clock of
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

// CanAdvance reports whether a run is parked here and there is something to deliver to its guest.
func (r *Run) CanAdvance() bool {
	if r.Now() != run.Parked {
		return false
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Now() == run.Parked && (r.Calls.Status().Deliverable || r.driver.timerIsDue())
}
