package runs

import (
	"cmp"
	"context"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/internal/runs/upkeep"
)

// New makes an engine. Configure and Start follow, in this order.
func New(ctx context.Context, settings codemode.Settings) *Engine {
	base := &run.Env{Settings: settings, Clock: run.RealClock{}}
	base.Life, base.End = context.WithCancel(context.WithoutCancel(ctx))
	env, workers, runs := drive.NewEnv(base), guests.New(base), &registry{runs: make(map[string]*drive.Run)}
	e := &Engine{
		Env: env, Guests: workers, registry: runs, reviver: &reviver{Env: env, Guests: workers, registry: runs},
		lister: lister{Env: env, Guests: workers, registry: runs},
	}
	e.Home = e
	e.moved = upkeep.NewMoved(base, e)
	e.sweeper = upkeep.NewSweeper(base, e, e.Guests, e.moved)
	e.Hint = func(id string) { e.advancer.Hint(id) }
	return e
}

// Configure says what the engine is made of. It comes before Start.
func (e *Engine) Configure(c run.Config) {
	c.Times = cmp.Or(c.Times, timing.Defaults)
	e.Config = c
	e.KeptPrograms = pipeline.KeptPrograms{ProgramConfig: c.Programs, Guard: e.Guard, Log: c.Logger}
	e.Meters = run.NewMeters(c.Quotas, c.MaxWorkers, e.Settings)
	e.advancer = upkeep.NewAdvancer(e.Env, e, c.Advance)
	e.ApprovalWatcher.Approvals, e.ApprovalWatcher.Log, e.ApprovalWatcher.Guard, e.ApprovalWatcher.Retry = c.ApprovalStore, c.Logger, e.Guard, c.Times.ApprovalRetry
	e.asked.every = c.Times.HostLook
}

// StartAdvancing has the engine resume runs that no caller waits for, if it is to.
func (e *Engine) StartAdvancing() {
	e.advancer.Start()
}

// StartSweeping starts the sweeper, which ends with the engine.
func (e *Engine) StartSweeping() {
	e.Background.Go(func() { e.sweeper.Run() })
}
