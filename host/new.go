package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins"
)

// New starts a host: guest workers, then the plugins of Config.Plugins. It
// fails when no guest worker can start with the isolation of Settings.Isolation.
// A plugin that cannot start is reported by
// Plugins and in the log, and its tools do not exist. ctx bounds the start only.
func New(ctx context.Context, cfg Config) (*Host, error) {
	h := &Host{
		cfg:      cfg,
		settings: cfg.Settings.WithDefaults(),
		agents:   make(map[string]Settings, len(cfg.Agents)),
		log:      cfg.Logger,
		schemas:  catalog.NewSchemas(0),
	}
	for id, s := range cfg.Agents {
		h.agents[id] = s.WithDefaults()
	}
	if h.log == nil {
		h.log = slog.Default()
	}
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
	if err := h.answerCluster(ctx); err != nil {
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
	h.engine = runs.New(ctx, h.settings)
	h.obs = newObserver(h)
	h.engine.Configure(run.Config{
		SettingsOf: h.settingsOf, Logger: h.log, Observer: h.obs, Store: h.cfg.Store, ApprovalStore: h.cfg.Approvals.Store,
		Views: engineViews{h}, Hooks: h.hooks.Load, HoldPlugins: h.holdPlugins,
		Quotas: h.cfg.Quotas, MaxWorkers: h.cfg.Guests.Max, Origin: h.cfg.Origin,
		PluginConfig: h.cfg.Plugins.Config, OnApproval: h.cfg.Approvals.OnNew, QuestionTimeout: h.cfg.Approvals.QuestionTimeout, DrainTimeout: h.cfg.DrainTimeout, Advance: h.cfg.Advance, Times: h.cfg.times.Runs,
		Programs: run.ProgramConfig{Store: h.cfg.Programs.Store, KeepFor: cmp.Or(h.cfg.Programs.KeepFor, DefaultKeepPrograms), ModelsSave: h.cfg.Programs.ModelsSave},
	})
}

func (h *Host) start(ctx context.Context) (err error) {
	if err := h.checkOwn(); err != nil {
		return err
	}
	if err := h.joinCluster(); err != nil {
		return err
	}
	if err := h.startHooks(); err != nil {
		return err
	}
	g := &h.cfg.Guests
	if err := h.engine.Start(ctx, guests.Config{Engine: g.Engine, Path: g.Path, NativePath: g.NativePath, Builds: g.Builds, Prepared: g.Prepared}); err != nil {
		return err
	}
	if err := h.startPlugins(ctx); err != nil {
		return err
	}
	if err := h.startMCP(ctx); err != nil {
		return err
	}
	h.viewMu.Lock()
	defer h.viewMu.Unlock()
	return h.refresh()
}

func (h *Host) startPlugins(ctx context.Context) error {
	if h.cfg.Plugins.Dir == "" && len(h.cfg.Plugins.Bundled) == 0 {
		return nil
	}
	bundled, err := h.cfg.Plugins.bundledPlugins()
	if err != nil {
		return err
	}
	data, temp, err := pluginData(h.cfg.Plugins)
	h.tempDir = temp
	if err != nil {
		return err
	}
	s, err := plugins.Supervise(ctx, h.cfg.Plugins.Dir, plugins.SupervisorOptions{
		DataDir:      data,
		OpenStorage:  h.cfg.Plugins.OpenStorage,
		Bundled:      bundled,
		Configs:      h.cfg.Plugins.Config,
		Secrets:      h.cfg.Plugins.Secrets,
		Gate:         plugins.LockGate(h.cfg.Plugins.Dir, h.cfg.Plugins.TrustedKeys),
		Logger:       h.log,
		OnChange:     h.pluginsChanged,
		Watch:        h.cfg.Plugins.Watch,
		DrainTimeout: h.cfg.times.Own.PluginDrain,
	})
	h.viewMu.Lock()
	defer h.viewMu.Unlock()
	h.plugins = s
	return err
}

// pluginData returns the directory under which plugins keep their data. Without one in
// the configuration it makes a temporary directory, which Close removes.
func pluginData(c PluginConfig) (dir, temp string, err error) {
	if c.DataDir != "" {
		dir, err = filepath.Abs(c.DataDir)
		return dir, "", err
	}
	temp, err = os.MkdirTemp("", "quoin-plugins-")
	if err != nil {
		return "", "", fmt.Errorf("data directory of plugins: %w", err)
	}
	return temp, temp, nil
}

// startMCP starts to keep the MCP servers connected, and waits until each was
// tried once or the time for that is over. One that is down does not stop a host.
func (h *Host) startMCP(ctx context.Context) error {
	servers, err := mcp.Connect(h.cfg.MCP.Servers, mcp.Options{Logger: h.log, Version: Version, PinDir: h.cfg.MCP.PinDir, Pins: h.cfg.MCP.Pins, SignIns: h.cfg.MCP.SignIns, OnChange: h.mcpChanged})
	if err != nil {
		return err
	}
	names := servers.Names()
	for _, t := range h.cfg.Tools {
		if t.Source == catalog.SourceMCP && !slices.Contains(names, t.Owner) {
			names = append(names, t.Owner)
		}
	}
	h.viewMu.Lock()
	h.mcp, h.mcpNames = servers, view.MCPServerIdentifiers(names)
	h.viewMu.Unlock()
	wait := h.cfg.MCP.Wait
	if wait == 0 {
		wait = h.cfg.times.Own.MCPWait
	}
	tried, cancel := context.WithTimeout(ctx, max(wait, 0))
	defer cancel()
	if servers.Tried(tried) != nil && ctx.Err() == nil {
		h.log.Info("some MCP servers are not connected yet")
	}
	return ctx.Err()
}

// startHooks reads the embedder's hooks. A bad pattern is an error.
func (h *Host) startHooks() (err error) {
	h.ownHooks, err = policy.NewChain(h.cfg.Hooks, h.cfg.HookTimeout)
	if err != nil {
		return err
	}
	h.hooks.Store(h.ownHooks)
	h.hookGrants = make(map[string]policy.Patterns)
	for id, texts := range h.cfg.Plugins.Hooks {
		if h.isBuiltIn(id) {
			return fmt.Errorf("hooks of plugin %s: that is the name of an owner of built-in tools, which no plugin may have", id)
		}
		if h.hookGrants[id], err = policy.ParsePatterns("hooks of plugin "+id, texts); err != nil {
			return err
		}
	}
	return nil
}

// answerCluster lets other hosts ask this one, which is ready.
func (h *Host) answerCluster(ctx context.Context) error {
	c := &h.cfg.Cluster
	if c.Listen == "" {
		h.checkCluster("")
		return nil
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	address := cmp.Or(c.Advertise, l.Addr().String())
	if err := checkAdvertised(address); err != nil {
		return errors.Join(err, l.Close())
	}
	shared := h.cfg.Store.(runstore.Shared)
	h.feeds, h.endFeeds = context.WithCancel(context.Background())
	h.clusterServer = cluster.Serve(l, h.credentials, shared.Host(), h.answerPeer, h.log, c.peerTimes())
	if err := shared.Advertise(ctx, address); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	h.log.Info("other hosts of the store can ask this one", "host", shared.Host(), "address", address)
	h.checkCluster(address)
	return nil
}

func newObserver(h *Host) *observe.Observer {
	state := h.engine.Metrics(Version)
	state.Cluster = h.clusterMetrics
	return observe.New(observe.Options{
		Logger:    h.log,
		Sink:      h.cfg.Trajectory.Sink,
		CallEnded: h.cfg.Trajectory.OnEvent,
		Bodies:    h.cfg.Trajectory.Bodies,
		Tracers:   h.cfg.TracerProvider,
		State:     state,
		Panicked:  func(p any, runID string) { h.ReportPanic(run.DuringObserver, p, "run", runID) },
	})
}

// holdPlugins returns a context under which a call has to do with one generation of
// each plugin only: the hooks, the mapping of arguments and the tool itself.
func (h *Host) holdPlugins(ctx context.Context) (held context.Context, done func()) {
	if h.plugins == nil {
		return ctx, func() {}
	}
	return h.plugins.KeepGenerations(ctx)
}
