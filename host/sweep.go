package host

import (
	"context"
	"time"
)

// sweepEvery is how often a host looks for runs in its store that expired, and for
// questions about runs, that no living process would end, because the one they
// belonged to is gone.
const sweepEvery = time.Minute

// sweep runs until ctx ends.
func (h *Host) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	h.guard(func() { h.countForeign(ctx) })
	for {
		h.guard(func() { h.sweepOnce(ctx) })
		if h.foreign.Load() > 0 {
			h.guard(func() { h.countForeign(ctx) })
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (h *Host) sweepOnce(ctx context.Context) {
	if _, err := h.store.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
		h.log.Error("expired runs were not deleted", "error", err)
	}
	if err := h.approvals.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
		h.log.Error("old approvals were not deleted", "error", err)
	}
	if err := h.endOrphans(ctx); err != nil && ctx.Err() == nil {
		h.log.Error("approvals of runs that have ended were not cancelled", "error", err)
	}
}
