package configfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins"
)

// File is a configuration as it is read from a JSON5 file, the environment and
// the command line. docs/reference/configuration.md lists its fields.
//
//	{
//	  tools: { codeMode: { enabled: true, timeoutMs: 10000 }, deny: ["*_delete"] },
//	  agents: { scout: { tools: { codeMode: { timeoutMs: 5000 } } } },
//	  plugins: { config: { calendar: { timeZone: "Europe/Paris" } } },
//	}
type File struct {
	// Settings are the limits, each filled in and in range; Settings.Disabled
	// unless something enables code mode.
	Settings host.Settings
	// Agents are the settings of agents that have some of their own.
	Agents map[string]host.Settings
	// Policy says which tools exist.
	Policy policy.Scopes
	// GuestEngine says which engine runs new runs. Unless some source gives it, it is empty:
	// then GuestPath decides the engine, or it is EngineAuto without a GuestPath.
	GuestEngine host.EngineChoice
	// GuestPath and NativePath name the guest executables of the default and of the
	// native engine; empty means the default search.
	GuestPath, NativePath string
	// GuestBuilds is the field of Config, "" if it is not given, or "none".
	GuestBuilds string
	// PreparedWorkers and MaxWorkers are the fields of Config.
	PreparedWorkers, MaxWorkers int
	// Quotas are the quotas of Config, each filled in and in range.
	Quotas host.Quotas
	// PluginDir is the directory of plugins; empty means the caller's default.
	PluginDir string
	// Development lets plugins of this machine stand in for installed ones: see
	// gateway.Options.
	Development bool
	// WatchPlugins is Watch of host.PluginConfig.
	WatchPlugins bool
	// TrustedKeys are the keys that plugins must be signed with, by one of them. If it
	// is empty, plugins need no signature.
	TrustedKeys []trust.PublicKey
	// PluginConfig is each plugin's own configuration, by plugin id.
	PluginConfig map[string]json.RawMessage
	// PluginSecrets says where each plugin's secrets are, by plugin id and name.
	PluginSecrets map[string]map[string]plugins.SecretSource
	// MCP are the upstream MCP servers, by name.
	MCP []mcp.Server
	// MCPCallbackURL is where browsers come back to after a sign-in.
	MCPCallbackURL string
	// MCPServer says how Quoin is an MCP server itself.
	MCPServer MCPServerFile
	// Hooks ask for the approvals that the file's rules want.
	Hooks []policy.Hook
	// QuestionTimeout is how long a person has to answer what a tool asks.
	QuestionTimeout time.Duration
	// KeepPrograms is how long the program of a run can be saved; 0 means not at all.
	// ModelsSavePrograms lets programs save programs.
	KeepPrograms       time.Duration
	ModelsSavePrograms bool
	// PluginHooks are the tools of others that a plugin's hooks may see the calls of, as
	// patterns by plugin id.
	PluginHooks map[string][]string
	// StateDir is the directory of what outlives a process; empty means the
	// caller's default.
	StateDir string
	// Cluster is the field of Config. Only a process that serves should listen.
	Cluster host.ClusterConfig
	// StateURL is the database that several hosts share, or where its URL is; empty means
	// that runs are in StateDir. StateKeyFile has the key of what is in the database.
	StateURL, StateKeyFile string
	// Server is what package gateway needs.
	Server ServerFile
	// Log says what the log of a command has.
	Log LogFile
	// Trajectory says what the directory of trajectories keeps.
	Trajectory TrajectoryFile
	// Report says where each value came from, and has the warnings.
	Report *config.Report

	source fileSource
	asRead
}

// asRead is what a File has of its sources before Load makes its fields of that.
type asRead struct {
	tools    toolsFile
	agents   map[string]*toolsFile
	sessions map[string]*rulesFile
	mcp      map[string]*mcp.Server
	// mcpSecrets are the sources of client secrets as they stand in the file, by server.
	mcpSecrets map[string]string
	secrets    map[string]map[string]string
	// clusterSecret is the source of Cluster.Secret.
	clusterSecret string
	shell         *settings.Settings
	approvals     []*approvalFile
	trustedKeys   []string
}

// fileSource is the file that a configuration came from; empty without one.
type fileSource struct {
	path string
	text []byte
}

// ServerFile is the part of a File about quoin serve.
type ServerFile struct {
	Listen       string   // address and port
	TokenFile    string   // file with the bearer token; empty without one
	Hosts        []string // names that requests over loopback may be addressed to
	MaxBodyBytes int64
	MaxCalls     int
	MaxStreams   int
	Advance      int // suspended runs that continue at once without a caller
}

// LogFile is the part of a File about logs.
type LogFile struct {
	Level  LogLevel  // from which on lines are written
	Format LogFormat // of a line
	Access bool      // quoin serve logs every request
}

// LogLevel is the least level of the lines that a log has.
type LogLevel string

// The levels of logs, as package slog has them.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// LogFormat is how a line of a log is written.
type LogFormat string

// The formats of logs: key=value pairs, or a JSON object a line.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// TrajectoryFile is the part of a File about recorded trajectories.
type TrajectoryFile struct {
	Bodies bool // record inputs and outputs, redacted and capped
	trajectory.DirOptions
}

// Error is everything that is wrong with a configuration: each problem with
// its place, field, value and what was expected.
type Error = config.Error

// Sources are what a configuration is read from, besides the defaults. Flags override
// the environment, which overrides the file.
type Sources struct {
	// Path names the file. Empty means no file.
	Path string
	// Text stands for the content of the file, before it is written. Nil reads the file.
	Text []byte
	// Environ is the environment, as os.Environ returns it. Nil means no variables.
	Environ []string
	// Set are assignments of the command line, such as
	// "tools.codeMode.timeoutMs=5000".
	Set []string
}

// Load reads a configuration from all its sources. Numbers outside their range are
// clamped; wrong types, unknown and repeated fields and text that is not JSON5 are a
// *Error, which has all of them. A file that cannot be read is an error of package os.
func Load(from Sources) (*File, error) {
	in := config.Input{File: from.Path, Text: from.Text, Environ: from.Environ, Set: from.Set}
	if from.Path != "" && from.Text == nil {
		text, err := os.ReadFile(from.Path)
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		in.Text = append([]byte{}, text...) // not nil, even if it is empty
	}
	f := newFile()
	f.source = fileSource{path: from.Path, text: in.Text}
	report, wrong := f.table().Read(in)
	f.Report = report
	if wrong == nil {
		f.finish()
	}
	if err := allWrong(wrong, f.checkWhole(from.Path)); err != nil {
		return nil, err
	}
	return f, nil
}

// allWrong joins the problems of single fields with the problems of groups that have no
// wrong field.
func allWrong(fields, wholes error) error {
	var first, second *Error
	if !errors.As(fields, &first) || !errors.As(wholes, &second) {
		return cmp.Or(fields, wholes)
	}
	all := *first
	for _, p := range second.Problems {
		whole := p.Field[:strings.LastIndex(p.Field, ".")+1]
		if !slices.ContainsFunc(first.Problems, func(f config.Problem) bool { return strings.HasPrefix(f.Field+".", whole) }) {
			all.Problems = append(all.Problems, p)
		}
	}
	return &all
}

// finish makes the exported fields of what was read.
func (f *File) finish() {
	if c := &f.tools.codeMode; c.SearchLimit > c.MaxSearchLimit {
		f.Report.Amend("tools.codeMode.searchDefaultLimit", c.MaxSearchLimit,
			fmt.Sprintf("is %d, more than maxSearchLimit; %d is used", c.SearchLimit, c.MaxSearchLimit))
	}
	if !f.Given("guest.engine") {
		f.GuestEngine = ""
	}
	f.leaveOn("", &f.tools.codeMode)
	f.Settings = f.tools.codeMode.settings()
	f.Hooks = f.hooks()
	for _, text := range f.trustedKeys {
		// One that is no key was refused when it was read; the zero key would trust
		// nothing.
		key, _ := trust.ParsePublicKey(text)
		f.TrustedKeys = append(f.TrustedKeys, key)
	}
	f.Policy.Rules = f.tools.rules.rules()
	f.Agents = make(map[string]host.Settings, len(f.agents))
	f.Policy.Agents = make(map[string]policy.Rules, len(f.agents))
	for id, a := range f.agents {
		if f.tools.codeMode.enabled {
			f.leaveOn("agents."+id+".", &a.codeMode)
		}
		f.Agents[id] = a.codeMode.settings()
		f.Policy.Agents[id] = a.rules.rules()
	}
	f.Policy.Sessions = make(map[string]policy.Rules, len(f.sessions))
	for key, r := range f.sessions {
		f.Policy.Sessions[key] = r.rules()
	}
}

// leaveOn turns code mode on where the file says nothing of it, as it is in a Config
// that says nothing. at is the path to the tools, with a dot at its end.
func (f *File) leaveOn(at string, c *codeModeFile) {
	const enabled = "tools.codeMode.enabled"
	for _, v := range f.Report.Values {
		if v.Field == at+enabled && v.Origin.Kind != "default" || strings.HasPrefix(v.Field, at+"tools.codeMode.") && v.Origin.Kind == "file" {
			return
		}
	}
	c.enabled = true
	for i := range f.Report.Values {
		if f.Report.Values[i].Field == at+enabled {
			f.Report.Values[i].Value = true
		}
	}
}

// Given reports whether some source, and not the default, says what the field of
// that path is.
func (f *File) Given(path string) bool {
	for _, v := range f.Report.Values {
		if v.Field == path {
			return v.Origin.Kind != "default"
		}
	}
	return false
}

// Config returns the configuration of a host as the file has it. What the file
// leaves out has the defaults of Config.
func (f *File) Config() host.Config {
	cfg := host.Config{
		Settings: f.Settings,
		Agents:   f.Agents,
		Rules:    f.Policy,
		Guests:   host.GuestConfig{Engine: f.GuestEngine, Path: f.GuestPath, NativePath: f.NativePath, Builds: f.GuestBuilds, Prepared: f.PreparedWorkers, Max: f.MaxWorkers},
		Quotas:   f.Quotas,
		Plugins:  host.PluginConfig{Dir: f.PluginDir, Watch: f.WatchPlugins, TrustedKeys: f.TrustedKeys, Config: f.PluginConfig, Secrets: f.PluginSecrets, Hooks: f.PluginHooks},
		MCP:      host.MCPConfig{Servers: f.MCP},
		Hooks:    f.Hooks,
		Cluster:  f.Cluster,

		Approvals: host.ApprovalConfig{QuestionTimeout: f.QuestionTimeout},
		Programs:  host.ProgramConfig{KeepFor: f.KeepPrograms, ModelsSave: f.ModelsSavePrograms},
	}
	if f.KeepPrograms == 0 {
		cfg.Programs.KeepFor = -1
	}
	f.addShell(&cfg.Plugins)
	return cfg
}

// Schema returns the JSON Schema of configuration files.
func Schema() ([]byte, error) {
	return newFile().table().Schema("Quoin configuration")
}
