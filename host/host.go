package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/trust"
)

// Config says what a host runs and with which limits. The zero value is a host
// without plugins and MCP servers.
type Config struct {
	// Settings are the limits of code mode.
	Settings Settings
	// Agents are the settings of agents that differ, by agent id. Each is complete:
	// it takes nothing from Settings unless you copy it from there. Isolation, the number
	// of suspended runs and the search limits are always those of Settings.
	Agents map[string]Settings
	// Quotas bound what the host holds, and what one session or agent may have of it.
	Quotas Quotas
	// Guests says which guest workers run the programs, and how many.
	Guests GuestConfig
	// Plugins says where the plugins are and what each of them gets.
	Plugins PluginConfig
	// MCP are the upstream MCP servers.
	MCP MCPConfig
	// Tools are the embedder's own tools. Their Owner defaults to "core"; a
	// plugin whose id is the owner of one of them offers nothing.
	Tools []catalog.Tool
	// Namespaces are the embedder's own. PluginID is the Owner of the tools they
	// require.
	Namespaces []namespaces.Registration
	// Rules say which tools exist: for everyone, for an agent and for a session.
	// Defaults to all tools.
	Rules policy.Scopes
	// Hooks look at every tool call, and at every program, before and after; see
	// package policy. Those of plugins follow them.
	Hooks []policy.Hook
	// HookTimeout bounds one call of a hook without a timeout of its own. Defaults
	// to 5 s.
	HookTimeout time.Duration
	// Approvals says who decides about calls that need a person.
	Approvals ApprovalConfig
	// Store keeps suspended runs. Defaults to a *runstore.Memory.
	Store runstore.Store
	// Cluster says how this host and the others that share Store ask each other.
	Cluster ClusterConfig
	// Origin says how to start a host like this one, such as the flags of a command
	// line. It is kept with the runs that this host suspends, for people: programs,
	// models and callers over HTTP do not get it. Defaults to nil.
	Origin []string
	// Programs says where programs are saved under a name.
	Programs ProgramConfig
	// Trajectory takes the events of runs and calls.
	Trajectory TrajectoryConfig
	// TracerProvider takes a span for every exec and wait, under the span of its
	// caller, and for every nested call. Package host/trajectory/tracing makes one
	// from the standard environment variables. Defaults to nil: no spans.
	TracerProvider trace.TracerProvider
	// Logger takes what operators should know. Defaults to slog.Default.
	Logger *slog.Logger
	// Advance is how many suspended runs may go on at once without a caller: when a timer of
	// theirs is due, a tool has answered or a person has decided. What comes of it is there
	// for the next Wait. Their calls have the values of no request after a restart. Defaults
	// to 0: a suspended run goes on when it is waited for.
	Advance int
	// DrainTimeout bounds how long Close waits for the calls of suspended runs,
	// so that their answers reach the store. Defaults to 5 s.
	DrainTimeout time.Duration

	times times // the zero value: defaultTimes
}

// GuestConfig says which guest workers run the programs, and how many.
type GuestConfig struct {
	// Engine says which engine runs new runs. Without a worker of it, New fails. A
	// suspended run goes on with the engine that it was suspended with, as long as
	// there is a worker of that one. Defaults to the engine of the worker at Path,
	// and without a Path to EngineAuto.
	Engine EngineChoice
	// Path names the guest executable of the default engine. Defaults to quoin-guest
	// next to the running executable, else the running executable itself if it called
	// guestserver.ServeIfWorker.
	Path string
	// NativePath names the guest executable of the native engine. Defaults to
	// quoin-guest-native next to the running executable, else the running executable
	// itself if it called guestserver.ServeIfWorker and was built with that engine.
	NativePath string
	// Builds is a directory where the host keeps the guest of each run that it stores,
	// under the guest's build. A run goes on with the build that suspended it, also after
	// Path leads to another one. Hosts of one store may share the directory; no two stores
	// may. No other user may be able to write to it. The host removes nothing there:
	// quoin state gc does. Defaults to "": no such directory.
	Builds string
	// Prepared is how many guest workers are kept ready; under load, up to
	// four times as many. Defaults to 2.
	Prepared int
	// Max bounds the guest workers that run cells at one moment; further
	// cells wait for one. A cell that waits for tools for long gives its worker back.
	// Defaults to 32.
	Max int
}

// PluginConfig says where the plugins are and what each of them gets.
type PluginConfig struct {
	// Dir is a directory with one subdirectory per plugin. Empty means no such plugins.
	Dir string
	// Bundled are plugins that come with the program and are trusted as that is. No plugin
	// of Dir takes their ids. Defaults to nil.
	Bundled []BundledPlugin
	// Watch loads, reloads and removes plugins as Dir changes. What
	// runs goes on: a call ends on the plugin that it started on, and a run that
	// resumes has the tools of that moment.
	Watch bool
	// TrustedKeys are the keys that plugins must be signed with, by one of them.
	// Defaults to nil: plugins need no signature. The quoin.lock of the directory counts
	// in either case, see plugins.LockGate.
	TrustedKeys []trust.PublicKey
	// Config is each plugin's configuration, by plugin id.
	Config map[string]json.RawMessage
	// Secrets says where each plugin's secrets are, by plugin id and name. They
	// reach the plugin alone.
	Secrets map[string]map[string]plugins.SecretSource
	// DataDir is where each plugin gets a directory of its own. Defaults
	// to a temporary directory, removed by Close.
	DataDir string
	// OpenStorage opens the key-value storages of plugins elsewhere than in DataDir, such as
	// in a database that several hosts share. Defaults to nil.
	OpenStorage plugins.OpenStorage
	// Hooks are the tools of others whose calls a plugin's hooks may see, as
	// patterns by plugin id. You rely on such a hook: while its plugin is not
	// there, those calls are blocked. Defaults to nil: hooks of plugins see the
	// calls of the plugin's own tools.
	Hooks map[string][]string
}

// MCPConfig names the upstream MCP servers.
type MCPConfig struct {
	// Servers have the tools that programs call as MCP.<server>.<tool>. One that is
	// down has no tools until it is there. Defaults to nil.
	Servers []mcp.Server
	// PinDir is where it is kept what the tools of each server have to be; see
	// mcp.Options. Defaults to memory.
	PinDir string
	// Pins keeps them elsewhere; see mcp.Options. Defaults to nil.
	Pins *mcp.Pins
	// SignIns keeps the sign-ins to servers on the network that want them. Defaults to
	// nil: such a server has no tools.
	SignIns *mcp.SignIns
	// Wait is how long New waits for servers that neither answer nor fail. A program whose text
	// names one of them waits for it, also after that. Defaults to 5 s; negative means not at all.
	Wait time.Duration
}

// ApprovalConfig says who decides about calls that need a person.
type ApprovalConfig struct {
	// Store keeps the questions that are put to people, and what they have
	// decided for good. Defaults to a *policy.MemoryApprovals. With a run store that
	// outlives the host it should outlive the host too.
	Store policy.Approvals
	// OnNew is told of every new question. It is called concurrently and
	// should not block; it may call Decide. Defaults to nil.
	OnNew func(*policy.Approval)
	// QuestionTimeout is how long a person has to answer what a tool asks in the middle of
	// a call. Defaults to 10 minutes; 1 s to 24 h, and clamped to that.
	QuestionTimeout time.Duration
}

// ProgramConfig says where programs are saved under a name. The zero value keeps no program.
type ProgramConfig struct {
	// Store has the saved programs, and those of runs for a while. Defaults to nil: no
	// program is kept.
	Store programs.Store
	// KeepFor is how long the program of a run can be saved after the run has ended.
	// Defaults to 24 hours; negative means not at all, so that no program can be saved.
	KeepFor time.Duration
	// ModelsSave lets programs of models call programs.save. Defaults to false: only
	// callers of SaveProgram save.
	ModelsSave bool
}

// DefaultKeepPrograms is the default of KeepFor in ProgramConfig.
const DefaultKeepPrograms = 24 * time.Hour

// TrajectoryConfig says who takes the events of runs and calls.
type TrajectoryConfig struct {
	// Sink takes the events of all runs and calls. Defaults to nil.
	Sink trajectory.Sink
	// OnEvent is told of every nested call once it has ended, searches of the
	// catalog included. It is called concurrently and must not block. Defaults to nil.
	OnEvent func(trajectory.Event)
	// Bodies makes events hold programs, inputs and outputs, after they
	// have been redacted and capped as it says. Defaults to nil: sizes only.
	Bodies *redact.Redactor
}

// DefaultPreparedWorkers and DefaultMaxWorkers are the defaults of Prepared and Max in
// GuestConfig.
const (
	DefaultPreparedWorkers = 2
	DefaultMaxWorkers      = 32
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
	hooks      atomic.Pointer[policy.Chain] // the embedder's and those of plugins
	hookGrants map[string]policy.Patterns   // Config.Plugins.Hooks

	credentials   *cluster.Credentials // nil: no cluster
	peers         *cluster.Peers
	clusterServer *cluster.Server
	checker       atomic.Pointer[cluster.Checker] // nil: no cluster
	checks        sync.WaitGroup
	followable    peerList // whose events are followed
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

// Must returns h, and panics if err is not nil. It is for small programs that cannot go on
// without a host.
func Must(h *Host, err error) *Host {
	if err != nil {
		panic(fmt.Errorf("host: %w", err))
	}
	return h
}

// newEngine makes the engine of the runs, whose workers start later.
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

// Isolation says how the guest workers of this host are confined.
func (h *Host) Isolation() Isolation { return run.IsolationOf(h.engine.Pool.Layers()) }

// GuestEngine says which engine runs the new runs of this host.
func (h *Host) GuestEngine() Engine {
	_, id := h.engine.Pool.Engine()
	return run.EngineOf(id)
}

// Plugins reports every plugin of the plugin directory and every bundled one, also those that could
// not be started. One that runs, but whose namespaces this host refuses, has no
// Namespaces and a Reason.
func (h *Host) Plugins() []plugins.Status {
	if h.plugins == nil {
		return nil
	}
	list := h.plugins.Plugins()
	v := h.view.Load()
	for i := range list {
		if s := &list[i]; v != nil && v.Refused[s.ID] != nil && s.Reason == "" {
			s.Namespaces, s.Reason = nil, v.Refused[s.ID].Error()
		}
	}
	return list
}

// PluginDir is Config.Plugins.Dir.
func (h *Host) PluginDir() string { return h.cfg.Plugins.Dir }

// ReloadPlugin brings a plugin in line with its folder as it is now; see
// [plugins.Supervisor.Reload]. When it returns, programs that start have what the
// plugin offers now.
func (h *Host) ReloadPlugin(ctx context.Context, id string) error {
	if h.plugins == nil {
		return ErrNoPlugins
	}
	return h.plugins.Reload(ctx, id)
}

// Tools returns the entries of the tools that Config.Rules leave to a session, in
// catalog order. For the zero Session these are the tools that everyone has.
func (h *Host) Tools(s Session) []catalog.Entry { return h.sessionView(s).Entries() }

// ToolOf describes a tool of Tools by its exact id. Its error is a *catalog.Error.
func (h *Host) ToolOf(s Session, id string) (*catalog.Description, error) {
	return h.sessionView(s).Catalog.DescribeID(id)
}

// Namespace is a namespace that cells can use now.
type Namespace struct {
	ID          string `json:"id"`
	GlobalName  string `json:"globalName"`
	PluginID    string `json:"pluginId"`
	Description string `json:"description"`
	Prompt      string `json:"prompt,omitempty"`
}

// Namespaces returns the namespaces that are visible to a session with the tools of
// Tools, ordered by id.
func (h *Host) Namespaces(s Session) []Namespace {
	var out []Namespace
	for _, r := range h.sessionView(s).Namespaces {
		out = append(out, Namespace{r.ID, r.GlobalName, r.PluginID, r.Description, r.Prompt})
	}
	return out
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
