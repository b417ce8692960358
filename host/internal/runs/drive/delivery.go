package drive

import (
	"context"
	"errors"
	"sync"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// Delivery is the Result of a Deliver on its way to who asked for it. Its methods are
// safe for concurrent use and may be called again.
type Delivery struct {
	Result *codemode.Result

	env    *run.Env
	runID  string
	mu     sync.Mutex
	claim  runstore.Claim // while no one else may deliver the result
	stored bool           // the store keeps the result
}

// NewDelivery returns a delivery without a result.
func (e *Env) NewDelivery() *Delivery { return &Delivery{env: e.Env.Env} }

// Keep notes that the store keeps the result of a run, and the claim of the run while no one
// else may deliver it; it may be nil.
func (d *Delivery) Keep(runID string, claim runstore.Claim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runID, d.claim, d.stored = runID, claim, true
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
		claim, err := d.env.Store.Claim(context.Background(), d.runID)
		if errors.Is(err, runstore.ErrClaimed) || errors.Is(err, runstore.ErrNotFound) {
			return // another process delivers it too, and forgets it
		}
		if err != nil {
			d.notDeleted(err)
			return
		}
		d.claim = claim
	}
	if err := d.env.CountFenced(d.claim.Delete(context.Background())); err != nil {
		d.notDeleted(err)
	}
	d.dropClaim()
}

func (d *Delivery) notDeleted(err error) {
	d.env.Logger.Error("a result that has been delivered was not deleted", "run", d.runID, "error", err)
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
