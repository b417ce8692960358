package drive

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/internal/awake"
)

// lease takes one of the host's worker slots and a worker.
func (d *driver) lease() error {
	h := d.run.env
	if err := d.awaitSlot(); err != nil {
		return err
	}
	w, err := d.run.pool.Acquire(d.ctx, d.run.Session.Identity(), d.run.limits())
	if err != nil {
		h.Meters.Workers.Give(quota.OwnerOf(d.run.Session), 1)
		return err
	}
	d.worker, d.layers, d.engineID = w, w.Layers(), w.EngineID()
	return nil
}

// AwaitSlot waits for a worker slot for as long as the caller waits.
func (d *driver) awaitSlot() error {
	why, err := d.run.env.AwaitSlot(d.ctx, d.run.Session, d.deadline, d.leaves)
	if why != nil {
		d.refused = why
	}
	return err
}

// release gives the worker back, if there is one.
func (d *driver) release() {
	if d.worker == nil {
		return
	}
	d.run.pool.Release(d.worker)
	d.worker = nil
	d.run.env.Meters.Workers.Give(quota.OwnerOf(d.run.Session), 1)
}

// evict takes the guest out of its worker. A guest that is too large stays.
func (d *driver) evict() error {
	_, err := d.snapshot()
	if fault.TooLarge(err) {
		return nil
	}
	if err != nil {
		return err
	}
	d.release()
	d.run.env.Observer.Debug.Decision("guest left its worker while it waits", "run", d.run.ID)
	return nil
}

// service runs a step in which no guest code runs under a time limit.
func (d *driver) service(step func(context.Context) error) error {
	ctx, cancel := awake.WithTimeoutCause(d.ctx, d.compute+d.run.env.Times.ServiceGrace, errStuck)
	defer cancel()
	err := step(ctx)
	if err != nil && d.ctx.Err() == nil && ctx.Err() != nil {
		return errStuck
	}
	return err
}

// snapshot returns an image of the guest as it is since its last turn. A guest that is
// in a worker stays there.
func (d *driver) snapshot() ([]byte, error) {
	if d.image != nil || d.held != nil {
		return d.image, nil
	}
	err := d.service(func(ctx context.Context) (err error) {
		d.image, err = d.worker.Snapshot(ctx, int(d.run.Settings.MaxSnapshot))
		return err
	})
	if err == nil {
		if denied := d.run.Calls.Costs.ChargeImage(len(d.image)); denied != nil {
			d.image = nil
			return nil, calls.HeldTooMuch(denied)
		}
	}
	return d.image, err
}

// Restore puts an evicted guest into a worker. The image is kept until the guest has
// run there. A process that cannot take it is replaced once by one that has run
// nothing yet.
func (d *driver) restore() error {
	if d.worker != nil {
		return nil
	}
	err := d.lease()
	if err == nil {
		d.run.env.Observer.Metrics.GuestRestored(run.EngineOf(d.engineID).Name)
		if err = d.tryRestore(); d.processFailed(err) {
			d.run.env.Logger.Warn("a guest worker could not take a suspended program; another one tries", "run", d.run.ID, "error", err)
			if err = d.replaceWorker(); err == nil {
				err = d.tryRestore()
			}
		}
	}
	if !d.processFailed(err) {
		return err
	}
	d.run.env.Logger.Error("no guest worker could take a suspended program; it waits on", "run", d.run.ID, "error", err)
	d.release()
	return errUnrestored
}

func (d *driver) tryRestore() error {
	return d.service(func(ctx context.Context) error {
		return d.worker.Restore(ctx, d.image, d.run.limits(), d.run.file)
	})
}

// processFailed reports whether a guest has no worker although nothing is wrong
// with its image, and there is time and use for another attempt.
func (d *driver) processFailed(err error) bool {
	var e *guestrt.WorkerError
	return d.ctx.Err() == nil && (errors.Is(err, errStuck) || errors.As(err, &e) && codemode.Reason(e.Reason) != codemode.ReasonRestoreFailed)
}

// replaceWorker takes a worker that has run nothing yet in place of the present one.
func (d *driver) replaceWorker() error {
	h := d.run.env
	d.run.pool.Release(d.worker)
	d.worker = nil
	w, err := d.run.pool.AcquireFresh(d.ctx, d.run.Session.Identity(), d.run.limits())
	if err != nil {
		h.Meters.Workers.Give(quota.OwnerOf(d.run.Session), 1)
		return err
	}
	d.worker, d.layers, d.engineID = w, w.Layers(), w.EngineID()
	return nil
}

// file serves a virtual file of the run and notes that the guest has read it. The driver
// calls it during a turn.
func (r *Run) file(ctx context.Context, path string) (data []byte, found bool) {
	data, found = pipeline.Files{Run: r.Run}.Serve(ctx, path)
	r.replay.File(path, data, found)
	return data, found
}

// dropImage forgets the image of a guest that is going to run, or that the store has. A store
// in memory holds it still.
func (d *driver) dropImage() {
	if d.image == nil {
		return
	}
	d.image = nil
	if !d.run.Record.IsVolatile() || !d.run.Record.IsStored() {
		_ = d.run.Calls.Costs.ChargeImage(0) // less is never refused
	}
}
