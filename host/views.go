package host

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/plugins"
)

// views makes what programs reach of the embedder's tools, the plugins and the MCP servers.
type views struct {
	cfg      *Config
	log      *slog.Logger
	settings Settings
	agents   map[string]Settings
	schemas  *catalog.Schemas
	policy   *policy.Policy
	owners   map[string]bool // names that no plugin may have

	plugins  *plugins.Supervisor // nil without plugins
	tempDir  string              // the data of plugins without a directory for it
	mcp      *mcp.Servers
	mcpNames map[string]string // identifiers of MCP servers in programs, by name
	mcpTried atomic.Bool       // every MCP server was tried once

	ownHooks   *policy.Chain
	hooks      atomic.Pointer[policy.Chain] // the embedder's hooks and the plugins'
	hookGrants map[string]policy.Patterns   // Config.Plugins.Hooks

	mu   sync.Mutex // orders changes of view; guards plugins and mcp while they start
	view atomic.Pointer[view.View]

	said     said
	indexing sync.WaitGroup
	watchers toolWatchers
}

func newViews(cfg *Config, log *slog.Logger) *views {
	vs := &views{cfg: cfg, log: log, settings: cfg.Settings.WithDefaults(), agents: make(map[string]Settings, len(cfg.Agents)), schemas: catalog.NewSchemas(0)}
	for id, s := range cfg.Agents {
		vs.agents[id] = s.WithDefaults()
	}
	return vs
}

// settingsOf returns the settings that hold for runs of a session.
func (vs *views) settingsOf(s Session) Settings {
	if own, ok := vs.agents[s.AgentID]; ok {
		return own
	}
	return vs.settings
}

// SessionView returns what the rules leave to a session.
func (vs *views) SessionView(s Session) *view.View {
	base := vs.view.Load()
	v, err := base.Derive(vs.layersOf(s), nil)
	if err != nil { // derive fails only for tools of a caller
		vs.log.Error("a session's tools could not be listed", "error", err)
		return view.New(base.Catalog.Filter(func(*catalog.Tool) bool { return false }), base.Registry, vs.mcpNames)
	}
	return v
}

// isBuiltIn reports whether a name is the name of an owner of built-in tools or of saved
// programs. No plugin may have it.
func (vs *views) isBuiltIn(id string) bool { return vs.owners[id] || id == programs.Owner }

// said is what the log has of the plugins of this view and of the one before.
type said struct{ now, before map[string]bool }

// sayOnce logs what is wrong with the plugins of a view, unless the view before has said it.
// The caller holds mu.
func (vs *views) sayOnce(message string, args ...any) {
	key := fmt.Sprintln(append([]any{message}, args...)...)
	if !vs.said.now[key] && !vs.said.before[key] {
		vs.log.Error(message, args...)
	}
	vs.said.now[key] = true
}

// layersOf returns the rules for a session.
func (vs *views) layersOf(s Session) policy.Layers { return vs.policy.For(s.AgentID, s.SessionKey) }
