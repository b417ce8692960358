package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// Delivery is the Result of a Deliver on its way to who asked for it. Its methods are
// safe for concurrent use and may be called again.
type Delivery struct {
	Result *Result

	engine *engine
	runID  string
	mu     sync.Mutex
	claim  runstore.Claim // while no one else may deliver the result
	stored bool           // the store keeps the result
}

// Deliver is Host.Deliver.
func (e *engine) Deliver(ctx context.Context, s Session, runID string, timeout time.Duration) *Delivery {
	a := e.obs.Enter(ctx, toolWait, s)
	d := &Delivery{engine: e}
	d.Result = a.End(e.wait(ctx, a, s, runID, timeout, nil, d))
	return d
}

// Done says that the result has arrived: the store forgets it.
func (d *Delivery) Done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stored {
		return
	}
	d.stored = false
	if d.claim == nil {
		claim, err := d.engine.store.Claim(context.Background(), d.runID)
		if errors.Is(err, runstore.ErrClaimed) {
			return // another process delivers it too, and forgets it
		}
		d.claim = claim
	}
	if err := d.engine.store.Delete(context.Background(), d.runID); err != nil {
		d.engine.log.Error("a result that has been delivered was not deleted", "run", d.runID, "error", err)
	}
	d.dropClaim()
}

// Release says that the result has not arrived: any process may deliver it. It reports
// whether the store has it.
func (d *Delivery) Release() (stored bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropClaim()
	return d.stored
}

func (d *Delivery) dropClaim() {
	if d.claim != nil {
		d.claim.Release()
		d.claim = nil
	}
}

// keepResult stores the result of a run of the store that has ended, if it is to be
// delivered, and hands the run's claim to the delivery. The caller runs it
// in record.exclusive.
func (r *run) keepResult(res *Result) (kept bool) {
	if r.driver.delivery == nil || !r.record.stored || res == nil {
		return false
	}
	var claim runstore.Claim
	b, err := res.MarshalJSON()
	if err == nil {
		claim, err = r.record.end(r.background(), &runstore.Ended{
			ID: r.id, Session: r.session, Expires: time.Now().Add(r.settings.SnapshotTTL), Result: b,
		})
	}
	if err != nil {
		r.engine.log.Error("the result of a run was not stored: it is lost unless it arrives", "run", r.id, "error", err)
		return false
	}
	d := r.driver.delivery
	d.runID, d.stored, d.claim = r.id, true, claim
	return true
}

// delivered returns the result of a run that has ended and was not delivered. Without
// d, the result counts as delivered.
func (e *engine) delivered(ctx context.Context, s Session, id string, d *Delivery) (*Result, *failure) {
	if _, err := e.ended(ctx, s, id); err != nil {
		return nil, ofStore(err)
	}
	claim, err := e.store.Claim(ctx, id)
	if err != nil {
		return nil, ofStore(err)
	}
	stored, err := e.ended(ctx, s, id)
	if err != nil { // it may have been delivered meanwhile
		claim.Release()
		return nil, ofStore(err)
	}
	res := &Result{}
	if err := res.UnmarshalJSON(stored.Result); err != nil {
		claim.Release()
		return nil, failf(CodeInternal, ReasonRestoreFailed, PhaseHost, "the result of a run cannot be read: %v", err)
	}
	own := &Delivery{engine: e}
	if d == nil {
		d = own
	}
	d.mu.Lock()
	d.runID, d.claim, d.stored = id, claim, true
	d.mu.Unlock()
	own.Done() // does nothing unless the caller brought no delivery
	return res, nil
}

// ended returns a result of the session's.
func (e *engine) ended(ctx context.Context, s Session, id string) (*runstore.Ended, error) {
	stored, err := e.store.Ended(ctx, id)
	if errors.Is(err, runstore.ErrExpired) {
		err = runstore.ErrNotFound // the run itself ended in time: this says nothing of its calls
	}
	if err != nil {
		return nil, err
	}
	if f := mayResume(stored.Session, s); f != nil {
		return nil, f
	}
	return stored, nil
}
