package upkeep

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// Sweeper ends what belonged to processes that are gone.
type Sweeper struct {
	*run.Env
	Runs    Runs
	guests  *guests.Guests
	moved   *Moved
	foreign atomic.Int64 // suspended runs of builds that are not here
}

func NewSweeper(e *run.Env, runs Runs, g *guests.Guests, moved *Moved) *Sweeper {
	return &Sweeper{Env: e, Runs: runs, guests: g, moved: moved}
}

// ForeignRuns counts the suspended runs of builds that are not here.
func (e *Sweeper) ForeignRuns() int { return int(e.foreign.Load()) }

// Run sweeps until the engine ends.
func (e *Sweeper) Run() { e.sweep(e.Life) }

// sweep runs until ctx ends.
func (e *Sweeper) sweep(ctx context.Context) {
	tick := time.NewTicker(e.Times.SweepEvery)
	defer tick.Stop()
	first := time.NewTimer(e.Times.KeepFirst)
	defer first.Stop()
	e.Guard(func() { e.countForeign(ctx) })
	for {
		e.Guard(func() { e.sweepOnce(ctx) })
		if e.foreign.Load() > 0 {
			e.Guard(func() { e.countForeign(ctx) })
		}
		for looked := false; !looked; {
			select {
			case <-tick.C:
				looked = true
			case <-first.C:
			case <-ctx.Done():
				return
			}
			e.Guard(func() { e.guests.KeepBuilds(ctx) })
		}
	}
}

func (e *Sweeper) sweepOnce(ctx context.Context) {
	if _, err := e.Store.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
		e.Logger.Error("expired runs were not deleted", "error", err)
	}
	if err := e.moved.LetGo(ctx); err != nil && ctx.Err() == nil {
		e.Logger.Error("runs that other processes have were not forgotten", "error", err)
	}
	if err := e.ApprovalStore.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
		e.Logger.Error("old approvals were not deleted", "error", err)
	}
	if err := e.EndOrphans(ctx); err != nil && ctx.Err() == nil {
		e.Logger.Error("approvals of runs that have ended were not cancelled", "error", err)
	}
}

// countForeign counts the suspended runs that no guest of this host can resume, for the
// metrics, and warns of them once.
func (e *Sweeper) countForeign(ctx context.Context) {
	records, err := e.Store.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.Logger.Error("suspended runs of other guest builds were not counted", "error", err)
		}
		return
	}
	n, last := 0, time.Time{}
	for _, rec := range records {
		if !e.guests.Has(rec) {
			n++
			if rec.Expires.After(last) {
				last = rec.Expires
			}
		}
	}
	if e.foreign.Swap(int64(n)) == 0 && n > 0 {
		e.Logger.Warn("suspended runs belong to another build of the guest: they are replayed when they go on; those that quoin state upgrade cannot replay need that quoin-guest in guest.builds", "runs", n, "lastExpires", last.UTC())
	}
}
