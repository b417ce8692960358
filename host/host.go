package host

import (
	"context"
	"log/slog"
	"sync"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/access"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// Host runs cells. Its methods are safe for concurrent use.
type Host struct {
	cfg     Config
	log     *slog.Logger
	obs     *observe.Observer
	engine  *runs.Engine
	views   *views
	cluster *member

	closeOnce sync.Once
	closeErr  error
}

// Guests says what runs the programs of a host.
type Guests struct {
	// Engine runs the new runs.
	Engine codemode.Engine
	// Isolation says how the workers are confined.
	Isolation codemode.Isolation
}

// Guests returns what runs the programs.
func (h *Host) Guests() Guests {
	_, id := h.engine.Pool.Engine()
	return Guests{run.EngineOf(id), run.IsolationOf(h.engine.Pool.Layers())}
}

// Health is how a host does.
type Health struct {
	// Store is how the store of runs does, as this host sees it. It is nil for a store that is
	// not away while its host lives, such as a directory.
	Store *runstore.Health
	// Cluster is what this host has last found wrong with its cluster: it asks the other hosts
	// now and then. It is nil without a cluster.
	Cluster []ClusterFault
}

// Health returns how the host does. It waits for the store for a second at most.
func (h *Host) Health(ctx context.Context) Health {
	out := Health{Cluster: h.cluster.faults()}
	if s, ok := h.engine.StoreHealth(ctx); ok {
		out.Store = &s
	}
	return out
}

func init() {
	access.OfHost = func(host any) access.Host {
		h := host.(*Host)
		return access.Host{Quotas: h.cfg.Quotas, Engine: h.engine, Debug: h.obs.Debug, PluginDir: h.cfg.Plugins.Dir}
	}
}
