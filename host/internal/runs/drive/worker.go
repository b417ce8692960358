package drive

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/internal/wire"
)

// lease waits for one of the host's worker slots, for as long as the caller waits, and takes
// a worker.
func (g *guest) lease() error {
	why, err := g.run.env.AwaitSlot(g.ctx, g.run.Session, g.deadline, g.leaves)
	if why != nil {
		g.refused = why
	}
	if err != nil {
		return err
	}
	return g.take(g.run.pool.Acquire(g.ctx, g.run.Session.Identity(), g.limits()))
}

// take takes a worker for the slot, or gives the slot back if there is no worker.
func (g *guest) take(w guests.Worker, err error) error {
	if err != nil {
		g.run.env.Meters.Workers.Give(quota.OwnerOf(g.run.Session), 1)
		return err
	}
	g.worker, g.layers, g.engineID = w, w.Layers(), w.EngineID()
	return nil
}

// release gives the worker back, if there is one.
func (g *guest) release() {
	if g.worker == nil {
		return
	}
	g.run.pool.Release(g.worker)
	g.worker = nil
	g.run.env.Meters.Workers.Give(quota.OwnerOf(g.run.Session), 1)
}

// evict takes the guest out of its worker. A guest that is too large stays.
func (g *guest) evict() error {
	_, err := g.snapshot()
	if fault.TooLarge(err) {
		return nil
	}
	if err != nil {
		return err
	}
	g.release()
	g.run.env.Observer.Debug.Decision("guest left its worker while it waits", "run", g.run.ID)
	return nil
}

// service runs a step in which no guest code runs under a time limit.
func (g *guest) service(step func(context.Context) error) error {
	ctx, cancel := awake.WithTimeoutCause(g.ctx, g.compute+g.run.env.Times.ServiceGrace, errStuck)
	defer cancel()
	err := step(ctx)
	if err != nil && g.ctx.Err() == nil && ctx.Err() != nil {
		return errStuck
	}
	return err
}

// snapshot returns an image of the guest as it is since its last turn. A guest that is
// in a worker stays there.
func (g *guest) snapshot() ([]byte, error) {
	if g.image != nil || g.held != nil {
		return g.image, nil
	}
	err := g.service(func(ctx context.Context) (err error) {
		g.image, err = g.worker.Snapshot(ctx, int(g.run.Settings.MaxSnapshot))
		return err
	})
	if err == nil {
		if denied := g.run.Calls.Costs.ChargeImage(len(g.image)); denied != nil {
			g.image = nil
			return nil, calls.HeldTooMuch(denied)
		}
	}
	return g.image, err
}

// Restore puts an evicted guest into a worker. The image is kept until the guest has
// run there. A process that cannot take it is replaced once by one that has run
// nothing yet.
func (g *guest) restore() error {
	if g.worker != nil {
		return nil
	}
	err := g.lease()
	if err == nil {
		g.run.env.Observer.Metrics.GuestRestored(run.EngineOf(g.engineID).Name)
		if err = g.tryRestore(); g.processFailed(err) {
			g.run.env.Logger.Warn("a guest worker could not take a suspended program; another one tries", "run", g.run.ID, "error", err)
			if err = g.replaceWorker(); err == nil {
				err = g.tryRestore()
			}
		}
	}
	if !g.processFailed(err) {
		return err
	}
	g.run.env.Logger.Error("no guest worker could take a suspended program; it waits on", "run", g.run.ID, "error", err)
	g.release()
	return errUnrestored
}

func (g *guest) tryRestore() error {
	return g.service(func(ctx context.Context) error {
		return g.worker.Restore(ctx, g.image, g.limits(), g.file)
	})
}

// processFailed reports whether a guest has no worker although nothing is wrong
// with its image, and there is time and use for another attempt.
func (g *guest) processFailed(err error) bool {
	var e *guestrt.WorkerError
	return g.ctx.Err() == nil && (errors.Is(err, errStuck) || errors.As(err, &e) && codemode.Reason(e.Reason) != codemode.ReasonRestoreFailed)
}

// replaceWorker takes a worker that has run nothing yet in place of the present one.
func (g *guest) replaceWorker() error {
	g.run.pool.Release(g.worker)
	g.worker = nil
	return g.take(g.run.pool.AcquireFresh(g.ctx, g.run.Session.Identity(), g.limits()))
}

func (g *guest) limits() wire.Limits {
	// Items are counted against MaxOutput here, to the byte; the guest must not
	// drop any before.
	return wire.Limits{MemoryBytes: uint64(g.run.Settings.MemoryLimit), MaxOutputItems: wire.MaxOutputItems}
}

// file serves a virtual file of the run and notes that the guest has read it. The driver
// calls it during a turn.
func (g *guest) file(ctx context.Context, path string) (data []byte, found bool) {
	data, found = pipeline.Files{Run: g.run.Run}.Serve(ctx, path)
	g.run.replay.File(path, data, found)
	return data, found
}

// dropImage forgets the image of a guest that is going to run, or that the store has. A store
// in memory holds it still.
func (g *guest) dropImage() {
	if g.image == nil {
		return
	}
	g.image = nil
	if !g.run.Record.IsVolatile() || !g.run.Record.IsStored() {
		_ = g.run.Calls.Costs.ChargeImage(0) // less is never refused
	}
}
