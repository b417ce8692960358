package host

import (
	"context"
	"time"
)

// sweepEvery is how often a host looks for runs in its store that expired, and for
// questions about runs, that no living process would end, because the one they
// belonged to is gone.
const sweepEvery = time.Minute

// startSweeping starts the sweeper, which ends with the engine.
func (e *engine) startSweeping() {
	e.background.Go(func() { e.sweep(e.life) })
}

// sweep runs until ctx ends.
func (e *engine) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	e.guard(func() { e.countForeign(ctx) })
	for {
		e.guard(func() { e.sweepOnce(ctx) })
		if e.foreign.Load() > 0 {
			e.guard(func() { e.countForeign(ctx) })
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (e *engine) sweepOnce(ctx context.Context) {
	if _, err := e.store.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
		e.log.Error("expired runs were not deleted", "error", err)
	}
	if err := e.approvals.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
		e.log.Error("old approvals were not deleted", "error", err)
	}
	if err := e.endOrphans(ctx); err != nil && ctx.Err() == nil {
		e.log.Error("approvals of runs that have ended were not cancelled", "error", err)
	}
}
