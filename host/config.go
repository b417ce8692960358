package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
)

// Config says what a host runs and with which limits. The zero value is a host
// without plugins and MCP servers.
type Config struct {
	// Settings are the limits of code mode.
	Settings Settings
	// Agents are the settings of agents that differ, by agent id. Each is complete:
	// it takes nothing from Settings unless you copy it from there. Isolation, the number of
	// suspended runs and the search limits always come from Settings.
	Agents map[string]Settings
	// Quotas bound what the host holds, and what one session or agent may have of it.
	Quotas Quotas
	// Guests says which guest workers run the programs, and how many.
	Guests GuestConfig
	// Plugins says where the plugins are and what each of them gets.
	Plugins PluginConfig
	// MCP are the upstream MCP servers.
	MCP MCPConfig
	// Tools are the embedder's own tools. Their Owner defaults to "core"; a plugin offers
	// nothing if its id is the owner of one of them.
	Tools []catalog.Tool
	// Namespaces are the embedder's own. PluginID is the Owner of the tools they
	// require.
	Namespaces []namespaces.Registration
	// Rules say which tools exist: for everyone, for an agent and for a session.
	// Defaults to all tools.
	Rules policy.Scopes
	// Hooks look at every tool call, and at every program, before and after; see
	// package policy. The hooks of plugins follow them.
	Hooks []policy.Hook
	// HookTimeout bounds one call of a hook without a timeout of its own. Defaults to 5 s. The
	// hook of a bundled plugin has 45 s, because it may ask another machine.
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
	// Advance is how many suspended runs may run at once without a caller: when a timer of a
	// run is due, a tool has answered or a person has decided. The next Wait gets the outcome.
	// After a restart their calls have the values of no request. Defaults to 0: a suspended
	// run resumes when a caller waits for it.
	Advance int
	// DrainTimeout bounds how long Close waits for the calls of suspended runs,
	// so that their answers reach the store. Defaults to 5 s.
	DrainTimeout time.Duration

	times times // the zero value: defaultTimes
}

// GuestConfig says which guest workers run the programs, and how many.
type GuestConfig struct {
	// Engine says which engine runs new runs. Without a worker of it, New fails. A suspended
	// run resumes on the engine that it was suspended on, as long as there is a worker of that
	// engine. Defaults to the engine of the worker at Path, and without a Path to EngineAuto.
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
	// under the guest's build. A run resumes with the build that suspended it, also after Path
	// leads to another build. Hosts of one store may share the directory; no two stores may.
	// No other user may be able to write to it. The host removes nothing there: quoin state gc
	// does. Defaults to "": no such directory.
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
	// Watch loads, reloads and removes plugins as Dir changes. Running calls and runs are not
	// interrupted: a call ends on the plugin that it started on, and a run that resumes has
	// the tools of that moment.
	Watch bool
	// TrustedKeys are the keys that plugins must be signed with, by one of them.
	// Defaults to nil: plugins need no signature. The quoin.lock of the directory counts
	// in either case, see plugins.LockGate.
	TrustedKeys []plugins.PublicKey
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
	// Hooks are patterns by plugin id: a plugin's hooks may see the calls of these tools of
	// others. You rely on such a hook: while its plugin is not there, those calls are blocked.
	// Defaults to nil: hooks of plugins see the calls of the plugin's own tools.
	Hooks map[string][]string
}

// bundledPlugins are the bundled plugins as a supervisor takes them.
func (c PluginConfig) bundledPlugins() (out []plugins.Bundled, err error) {
	for _, b := range c.Bundled {
		if b.Dir == "" {
			self, err := os.Executable()
			if err != nil {
				return nil, fmt.Errorf("bundled plugin %s: the directory of the executable is not known: %w", b.ID, err)
			}
			b.Dir = filepath.Join(filepath.Dir(self), "bundled", b.ID)
		}
		if b.Dir, err = filepath.Abs(b.Dir); err != nil {
			return nil, err
		}
		if filepath.Base(b.Dir) != b.ID {
			return nil, fmt.Errorf("bundled plugin %s: its folder %s must have the name %s", b.ID, b.Dir, b.ID)
		}
		out = append(out, plugins.Bundled{Dir: b.Dir, CallTimeout: b.CallTimeout})
	}
	return out, nil
}

func (c PluginConfig) isBundled(id string) bool {
	return slices.ContainsFunc(c.Bundled, func(b BundledPlugin) bool { return b.ID == id })
}

// BundledPlugin is a plugin that comes with the program. Its tools, namespaces and hooks
// belong to the owner "core", as the embedder's own do: its tool exec is
// quoin:core:exec. Configuration, secrets and data are found under its ID.
type BundledPlugin struct {
	// ID is the id in its manifest.
	ID string
	// Dir is its folder, named by its ID. Defaults to bundled/<ID> next to the running
	// executable.
	Dir string
	// CallTimeout bounds each of its calls. Defaults to the call timeout of all plugins.
	CallTimeout time.Duration
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
	// Wait is how long New waits for servers that neither answer nor fail. A program that
	// names one of them in its text waits for that server, also after that time. Defaults to
	// 5 s; negative means not at all.
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
	// Store has the saved programs, and the programs of runs for a while. Defaults to nil: no
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
