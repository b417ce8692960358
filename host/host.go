package host

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/plugins"
)

// Host runs cells. Its methods are safe for concurrent use.
type Host struct {
	cfg      Config
	settings Settings
	agents   map[string]Settings
	log      *slog.Logger
	obs      *observe.Observer
	engine   *runs.Engine
	plugins  *plugins.Supervisor // nil without plugins
	mcp      *mcp.Servers
	mcpNames map[string]string // identifiers of MCP servers in programs, by name
	mcpTried atomic.Bool       // every MCP server was tried once
	schemas  *catalog.Schemas
	policy   *policy.Policy

	ownHooks   *policy.Chain
	hooks      atomic.Pointer[policy.Chain] // the embedder's hooks and the plugins'
	hookGrants map[string]policy.Patterns   // Config.Plugins.Hooks

	credentials   *cluster.Credentials // nil: no cluster
	peers         *cluster.Peers
	clusterServer *cluster.Server
	checker       atomic.Pointer[cluster.Checker] // nil: no cluster
	checks        sync.WaitGroup
	followable    peerList // their events are followed
	endChecks     context.CancelFunc
	feeds         context.Context // of events that other hosts are told
	endFeeds      context.CancelFunc

	tempDir string
	owners  map[string]bool // names that no plugin may have

	viewMu sync.Mutex // orders changes of view; guards plugins and mcp while they start
	view   atomic.Pointer[view.View]

	said, saidBefore map[string]bool // in the log, of the plugins of this view and the one before

	closeOnce sync.Once
	closeErr  error

	background sync.WaitGroup // index builds

	toolWatchers toolWatchers
}

// Isolation says how the guest workers of this host are confined.
func (h *Host) Isolation() Isolation { return run.IsolationOf(h.engine.Pool.Layers()) }

// GuestEngine says which engine runs the new runs of this host.
func (h *Host) GuestEngine() Engine {
	_, id := h.engine.Pool.Engine()
	return run.EngineOf(id)
}

// settingsOf returns the settings that hold for runs of a session.
func (h *Host) settingsOf(s Session) Settings {
	if own, ok := h.agents[s.AgentID]; ok {
		return own
	}
	return h.settings
}

// Quotas returns Config.Quotas with every default filled in.
func (h *Host) Quotas() Quotas { return h.cfg.Quotas }

// Refused returns the Result that tells a model of err, such as one of ParseExec.
// An error that is no *Error becomes internal_error.
func (h *Host) Refused(err error) *Result { return codemode.Failed(err) }

// sessionView returns what the rules leave to a session.
func (h *Host) sessionView(s Session) *view.View {
	base := h.view.Load()
	v, err := base.Derive(h.policy.For(s.AgentID, s.SessionKey), nil)
	if err != nil { // derive fails only for tools of a caller
		h.log.Error("a session's tools could not be listed", "error", err)
		return view.New(base.Catalog.Filter(func(*catalog.Tool) bool { return false }), base.Registry, h.mcpNames)
	}
	return v
}

// isBuiltIn reports whether a name is the name of an owner of built-in tools or of saved
// programs. No plugin may have it.
func (h *Host) isBuiltIn(id string) bool { return h.owners[id] || id == programs.Owner }

// sayOnce logs what is wrong with the plugins of a view, unless the view before has said it.
// The caller holds viewMu.
func (h *Host) sayOnce(message string, args ...any) {
	key := fmt.Sprintln(append([]any{message}, args...)...)
	if !h.said[key] && !h.saidBefore[key] {
		h.log.Error(message, args...)
	}
	h.said[key] = true
}
