package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// New starts a host: guest workers, then the plugins of Config.Plugins. It
// fails when no guest worker can start with the isolation of Settings.Isolation.
// A plugin that cannot start is reported by
// Plugins and in the log, and its tools do not exist. ctx bounds the start only.
func New(ctx context.Context, cfg Config) (*Host, error) {
	h := &Host{cfg: cfg, log: cfg.Logger}
	if h.log == nil {
		h.log = slog.Default()
	}
	h.views, h.cluster = newViews(&h.cfg, h.log), &member{cfg: &h.cfg, log: h.log}
	if h.cfg.Store == nil {
		h.cfg.Store = &runstore.Memory{}
	}
	if h.cfg.Approvals.Store == nil {
		if _, volatile := h.cfg.Store.(runstore.Volatile); !volatile {
			h.log.Warn("suspended runs outlive this host, and what people are asked about them does not: set Config.Approvals.Store to a store that does")
		}
		h.cfg.Approvals.Store = &policy.MemoryApprovals{}
	}
	if h.cfg.Guests.Max <= 0 {
		h.cfg.Guests.Max = DefaultMaxWorkers
	}
	h.cfg.times = cmp.Or(h.cfg.times, defaultTimes)
	if h.cfg.DrainTimeout == 0 {
		h.cfg.DrainTimeout = h.cfg.times.Own.DrainTimeout
	}
	h.cfg.Quotas = h.cfg.Quotas.WithDefaults()
	h.newEngine(ctx)
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	warnUnusedSettings(h.log, h.UnusedSettings())
	if err := h.cluster.answer(ctx, h.answerPeer); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.engine.StartSweeping()
	h.engine.StartAdvancing()
	return h, nil
}

// Must returns h, and panics if err is not nil. It is for small programs that cannot work
// without a host.
func Must(h *Host, err error) *Host {
	if err != nil {
		panic(fmt.Errorf("host: %w", err))
	}
	return h
}

// newEngine makes the engine of the runs. The engine's workers start later.
func (h *Host) newEngine(ctx context.Context) {
	h.engine = runs.New(ctx, h.views.settings)
	h.obs = newObserver(h)
	h.engine.Configure(run.Config{
		SettingsOf: h.views.settingsOf, Logger: h.log, Observer: h.obs, Store: h.cfg.Store, ApprovalStore: h.cfg.Approvals.Store,
		Views: h.views, Hooks: h.views.hooks.Load, HoldPlugins: h.views.holdPlugins,
		Quotas: h.cfg.Quotas, MaxWorkers: h.cfg.Guests.Max, Origin: h.cfg.Origin,
		PluginConfig: h.cfg.Plugins.Config, OnApproval: h.cfg.Approvals.OnNew, QuestionTimeout: h.cfg.Approvals.QuestionTimeout, DrainTimeout: h.cfg.DrainTimeout, Advance: h.cfg.Advance, Times: h.cfg.times.Runs,
		Programs: run.ProgramConfig{Store: h.cfg.Programs.Store, KeepFor: cmp.Or(h.cfg.Programs.KeepFor, DefaultKeepPrograms), ModelsSave: h.cfg.Programs.ModelsSave},
	})
}

func (h *Host) start(ctx context.Context) (err error) {
	if err := h.views.checkOwn(); err != nil {
		return err
	}
	if err := h.cluster.join(); err != nil {
		return err
	}
	if h.cluster.peers != nil {
		h.engine.Peers = h.cluster.peers
	}
	if err := h.views.startHooks(); err != nil {
		return err
	}
	g := &h.cfg.Guests
	if err := h.engine.Start(ctx, guests.Config{Engine: g.Engine, Path: g.Path, NativePath: g.NativePath, Builds: g.Builds, Prepared: g.Prepared}); err != nil {
		return err
	}
	if err := h.views.startPlugins(ctx); err != nil {
		return err
	}
	if err := h.views.startMCP(ctx); err != nil {
		return err
	}
	h.views.mu.Lock()
	defer h.views.mu.Unlock()
	return h.views.refresh()
}

func newObserver(h *Host) *observe.Observer {
	state := h.engine.Metrics(Version)
	state.Cluster = h.cluster.metrics
	return observe.New(observe.Options{
		Logger:    h.log,
		Sink:      h.cfg.Trajectory.Sink,
		CallEnded: h.cfg.Trajectory.OnEvent,
		Bodies:    h.cfg.Trajectory.Bodies,
		Tracers:   h.cfg.TracerProvider,
		State:     state,
		Panicked:  func(p any, runID string) { h.engine.ReportPanic(run.DuringObserver, p, "run", runID) },
	})
}
