package configfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins"
)

// newFile returns a File of defaults.
func newFile() *File {
	return &File{
		asRead: asRead{
			tools:      toolsFile{codeMode: codeModeFile{runtime: "quickjs", mode: "only", Settings: host.Settings{Isolation: host.IsolationRequired}.WithDefaults()}},
			agents:     map[string]*toolsFile{},
			sessions:   map[string]*rulesFile{},
			secrets:    map[string]map[string]string{},
			shell:      newShell(),
			mcp:        map[string]*mcp.Server{},
			mcpSecrets: map[string]string{},
		},
		PluginConfig:    map[string]json.RawMessage{},
		PluginSecrets:   map[string]map[string]plugins.SecretSource{},
		PluginHooks:     map[string][]string{},
		QuestionTimeout: policy.DefaultApprovalTimeout,
		KeepPrograms:    host.DefaultKeepPrograms,
		GuestEngine:     host.EngineAuto,
		PreparedWorkers: host.DefaultPreparedWorkers,
		MaxWorkers:      host.DefaultMaxWorkers,
		Quotas:          host.Quotas{}.WithDefaults(),
		Server:          ServerFile{Listen: "127.0.0.1:8787", MaxBodyBytes: 8 << 20, MaxCalls: 256, MaxStreams: 32, Advance: 4},
		MCPServer:       MCPServerFile{Wait: 45 * time.Second},
		Log:             LogFile{Level: LogInfo, Format: LogText},
		Trajectory:      TrajectoryFile{DirOptions: trajectory.DirOptions{MaxFileBytes: 8 << 20, MaxTotalBytes: 256 << 20, MaxRuns: 10_000, MaxAge: 7 * 24 * time.Hour}},
	}
}

// table binds the fields of a configuration file to f. It is what the loader, the
// schema and the reference are made of.
func (f *File) table() config.Table {
	return config.Table{
		EnvPrefix: "QUOIN_",
		Strict:    []string{"CODE_MODE_"},
		Fields: []config.Field{
			config.Text("$schema", new(string), "Address of the schema, for editors. It is not looked at."),
			config.Object("tools", f.toolFields(), "What every run may do."),
			config.Map("agents", "agent id", f.agent, "What differs for one agent."),
			config.Map("sessions", "session key", f.session, "Further rules for one session; they can only narrow what the others leave."),
			config.Object("guest", []config.Field{
				config.Choice("engine", &f.GuestEngine, []host.EngineChoice{host.EngineDefault, host.EngineNative, host.EngineAuto},
					"The engine of new runs: QuickJS in Go, or `native`, QuickJS in C, whose worker has to be there. `auto` is native where that worker is found, else default. Unless it is given, a worker that `path` names is taken, whichever its engine is. A suspended run keeps its engine."),
				config.Text("path", &f.GuestPath, "The guest executable of the default engine. Without it: quoin-guest next to the host's executable, else that itself if it serves as a worker."),
				config.Text("nativePath", &f.NativePath, "The guest executable of the native engine. Without it: quoin-guest-native next to the host's executable."),
				config.Text("builds", &f.GuestBuilds, "A directory where a host keeps the guest of each run that it stores, for the time after an upgrade. Hosts of one store may share it. `none` means no such directory. Without it: `guest-builds` in the state directory."),
				config.Int("preparedWorkers", &f.PreparedWorkers, 1, 256, "Guest workers that are kept ready."),
				config.Int("maxWorkers", &f.MaxWorkers, 1, 4096, "Guest workers that run cells at one moment; further cells wait."),
			}, "The processes that programs run in."),
			config.Object("quotas", quotaFields(&f.Quotas), "What runs may make the host hold, and the share of one session."),
			config.Object("plugins", []config.Field{
				config.Text("dir", &f.PluginDir, "The directory with one subdirectory for each plugin. `none` means no plugins. Without it the command looks for the user's, `$XDG_DATA_HOME/quoin/plugins` or `~/.local/share/quoin/plugins`, then for plugins next to its executable."),
				config.Bool("development", &f.Development, "Whether `quoin serve` lets `quoin plugin dev --server`, from this machine, put a plugin in the place of an installed one."),
				config.Bool("watch", &f.WatchPlugins, "Load, reload and remove plugins as the directory changes. Unless it is given, `quoin serve` does and other commands do not."),
				config.Texts("trustedKeys", &f.trustedKeys, "Public keys as `quoin plugin keys show` prints them. With any, only plugins start and are installed that one of them has signed. Without, `quoin plugin install` takes an archive only with `--allow-unsigned`.").Check(checkPublicKey),
				config.Map("config", "plugin id", f.pluginConfig, "Each plugin's own configuration, as its manifest's schema describes it."),
				config.Map("secrets", "plugin id", f.pluginSecrets, "Where each plugin's secrets are, by their names: `\"env:NAME\"`, a variable of the host's environment, or `\"file:/path\"`, a file with nothing but the secret. "+
					"They are read whenever the plugin is started. Programs, results, logs and records never have them."),
				config.Map("hooks", "plugin id", f.pluginHooks, "Plugins with hooks that may look at calls of tools of others. While such a plugin is not there, those calls are blocked."),
				config.Object("shell", f.shellFields(), "The bundled plugin that runs shell commands. See [the shell](../shell.md)."),
			}, "Programs that bring tools and namespaces."),
			config.Object("mcp", f.mcpFields(), "Upstream MCP servers, whose tools programs call as `MCP.<server>.<tool>`."),
			config.List("approvals", f.approval, "Calls that need a person's approval. Rules add up."),
			config.Duration("questionTimeoutMs", &f.QuestionTimeout, time.Millisecond, policy.MinApprovalTimeout.Milliseconds(), policy.MaxApprovalTimeout.Milliseconds(),
				"How long a person has to answer what a tool asks in the middle of its call; no answer in time rejects the call."),
			config.Object("programs", []config.Field{
				config.Duration("keepHours", &f.KeepPrograms, time.Hour, 0, 24*30, "How long the program of a run is kept, so that it can be saved under a name; 0 keeps no program."),
				config.Bool("saveByModels", &f.ModelsSavePrograms, "Whether programs of models may save programs, with `programs.save`."),
			}, "Programs that are saved under a name. They are in the state directory, sealed as suspended runs are."),
			config.Object("state", []config.Field{
				config.Text("dir", &f.StateDir, "The directory of suspended runs, approvals, trajectories and plugin data. Without it: quoin in the user's state home."),
				config.Text("url", &f.StateURL, "The PostgreSQL database that several hosts share: `postgres://user@host/database`, without a password, or where the URL is: `env:NAME` or `file:/path`. Then `dir` has what this host alone needs."),
				config.Text("keyFile", &f.StateKeyFile, "The file with the key that seals what is in the database, the same on all hosts: 32 bytes, mode 0600. Without it: database.key in the state directory. The first host makes it; copy it to the others."),
			}, "What outlives a process."),
			config.Object("cluster", f.clusterFields(), "How the hosts that share a database ask each other for runs."),
			config.Object("server", f.Server.fields(), "What `quoin serve` listens to."),
			config.Object("log", f.Log.fields(), "What commands log, to standard error. No line has programs, inputs or outputs unless `QUOIN_DEBUG_MODEL_PAYLOAD` asks for them."),
			config.Object("trajectory", f.Trajectory.fields(), "What is recorded of runs and calls, in the state directory."),
		},
	}
}

func (f *File) toolFields() []config.Field {
	c := &f.tools.codeMode
	return append([]config.Field{
		config.Object("codeMode", append(c.fields(), c.hostFields()...),
			"Code mode shows the model `exec` and `wait` in place of the tools. Where it is given, only `enabled: true` turns it on; a configuration that says nothing of it leaves it on.").Switch("enabled").Env("CODE_MODE"),
	}, f.tools.rules.fields()...)
}

// agent reads what differs for one agent. What it leaves out is as for everybody.
func (f *File) agent(id string) config.Field {
	a := &toolsFile{codeMode: f.tools.codeMode}
	f.agents[id] = a
	return config.Object(id, []config.Field{
		config.Object("tools", append([]config.Field{
			config.Object("codeMode", a.codeMode.fields(), "Laid over `tools.codeMode` field by field.").Switch("enabled").Inherited(),
		}, a.rules.fields()...), "Rules here narrow what `tools` leaves."),
	}, "What differs for one agent.")
}

// session reads the rules of one session.
func (f *File) session(key string) config.Field {
	r := &rulesFile{}
	f.sessions[key] = r
	return config.Object(key, r.fields(), "Rules for one session.")
}

// checkPublicKey says what a trusted key looks like.
func checkPublicKey(text string) error {
	if _, err := trust.ParsePublicKey(text); err != nil {
		return errors.New(`"ed25519:" and 44 characters of base64`)
	}
	return nil
}

// pluginConfig reads the configuration of one plugin.
func (f *File) pluginConfig(id string) config.Field {
	var raw json.RawMessage
	return config.Raw(id, &raw, "").Then(func() { f.PluginConfig[id] = raw })
}

// toolsFile is tools, of everybody or of one agent.
type toolsFile struct {
	codeMode codeModeFile
	rules    rulesFile
}

// codeModeFile is tools.codeMode.
type codeModeFile struct {
	enabled       bool
	runtime, mode string
	host.Settings
}

func (c *codeModeFile) settings() host.Settings {
	c.Disabled = !c.enabled
	return c.WithDefaults()
}

// hostFields are those that hold for a host as a whole.
func (c *codeModeFile) hostFields() []config.Field {
	return []config.Field{
		config.Choice("runtime", &c.runtime, []string{"quickjs"}, "The language runtime. `quickjs-wasi` is another name of the only one there is; `guest.engine` says which build of it.").Alias("quickjs-wasi", "quickjs"),
		config.Choice("mode", &c.mode, []string{"only"}, "How the model sees other tools: not at all."),
		config.Choice("isolation", &c.Isolation, []codemode.IsolationPolicy{host.IsolationRequired, host.IsolationStrict, host.IsolationBestEffort},
			"Whether a host starts where the system lacks layers of the guest's sandbox. Unless it is given, `quoin exec` takes what there is."),
		config.Int("maxSuspendedRuns", &c.MaxSuspended, codemode.Ranges().MaxSuspended.Min, codemode.Ranges().MaxSuspended.Max, "Suspended runs of one store, of all hosts that share it. In each host, one session may have `quotas.sessionPercent` of them."),
		config.Int("searchDefaultLimit", &c.SearchLimit, codemode.Ranges().SearchLimit.Min, codemode.Ranges().SearchLimit.Max, "Results of a `tools.search` that names no limit; never more than `maxSearchLimit`."),
		config.Int("maxSearchLimit", &c.MaxSearchLimit, codemode.Ranges().MaxSearchLimit.Min, codemode.Ranges().MaxSearchLimit.Max, "Results of one `tools.search` at the most."),
	}
}

// fields are those that an agent may have of its own.
func (c *codeModeFile) fields() []config.Field {
	return []config.Field{
		config.Bool("enabled", &c.enabled, "Turns code mode on. Nothing else does where `codeMode` is given."),
		config.Texts("languages", &c.Languages, "Languages a program may be written in.").OneOf(codemode.Languages()...),
		config.Duration("timeoutMs", &c.Timeout, time.Millisecond, codemode.Ranges().Timeout.Min, codemode.Ranges().Timeout.Max, "How long a program may compute in one go, until it waits for a call or a timer."),
		config.Duration("waitMs", &c.Wait, time.Millisecond, codemode.Ranges().Wait.Min, codemode.Ranges().Wait.Max, "How long an `exec` or `wait` may take before it says that the program is still waiting. Callers may ask for less."),
		config.Duration("cpuBudgetMs", &c.CPUBudget, time.Millisecond, codemode.Ranges().CPUBudget.Min, codemode.Ranges().CPUBudget.Max, "Processor time of one run, all its waits together."),
		config.Int("memoryLimitBytes", &c.MemoryLimit, codemode.Ranges().MemoryLimit.Min, codemode.Ranges().MemoryLimit.Max, "Memory of one guest."),
		config.Int("maxOutputBytes", &c.MaxOutput, codemode.Ranges().MaxOutput.Min, codemode.Ranges().MaxOutput.Max, "Output and value of one result together, as compact JSON."),
		config.Choice("onOutputLimit", &c.OnOutputLimit, []codemode.OutputPolicy{codemode.OutputFail, codemode.OutputTruncate},
			"What happens beyond `maxOutputBytes`: the run fails, or it completes with a marker that says how much is missing."),
		config.Int("maxSnapshotBytes", &c.MaxSnapshot, codemode.Ranges().MaxSnapshot.Min, codemode.Ranges().MaxSnapshot.Max, "Stored size of one suspended run."),
		config.Int("maxPendingToolCalls", &c.MaxPendingCalls, codemode.Ranges().MaxPendingCalls.Min, codemode.Ranges().MaxPendingCalls.Max, "Tool calls of one run in flight; 4,000 more wait in a queue."),
		config.Int("maxApprovals", &c.MaxApprovals, codemode.Ranges().MaxApprovals.Min, codemode.Ranges().MaxApprovals.Max, "How often one run may ask people for an approval; more calls that need one are not made."),
		config.Duration("undoTtlSeconds", &c.UndoTTL, time.Second, codemode.Ranges().UndoTTL.Min, codemode.Ranges().UndoTTL.Max, "How long it is kept how the calls of a run are undone."),
		config.Duration("snapshotTtlSeconds", &c.SnapshotTTL, time.Second, codemode.Ranges().SnapshotTTL.Min, codemode.Ranges().SnapshotTTL.Max, "How long a suspended run is kept after its last use, and after the question or the timer that it waits for."),
		config.Map("models", "model id", c.model, "Which models get code mode: `on`, `off`, or `auto` (where its tools cost more than `autoSharePercent` of its context window). `*` in a model id stands for any characters; "+
			"of several entries that match, the most exact counts. A model without one gets it.").OnFirst(func() { c.Models = map[string]codemode.Activation{} }),
		config.Int("autoSharePercent", &c.AutoShare, codemode.Ranges().AutoShare.Min, codemode.Ranges().AutoShare.Max, "What the tools of a model that is set to `auto` have to cost for code mode, as a share of its context window."),
		config.Int("contextWindowTokens", &c.ContextWindow, codemode.Ranges().ContextWindow.Min, codemode.Ranges().ContextWindow.Max, "The context window of models whose window a gateway does not tell, in tokens."),
	}
}

// model reads the activation of the models of one id or pattern.
func (c *codeModeFile) model(id string) config.Field {
	var a codemode.Activation
	return config.Choice(id, &a, []codemode.Activation{codemode.ActivationOn, codemode.ActivationOff, codemode.ActivationAuto}, "").Then(func() { c.Models[id] = a })
}

// rulesFile is a pair of allow and deny. An empty list that is given is not the
// same as a list that is absent.
type rulesFile struct{ allow, deny []string }

func (r *rulesFile) fields() []config.Field {
	return []config.Field{
		config.Texts("allow", &r.allow, "Tools that exist; an empty list leaves none. A pattern is a name (`list_*`), an id (`quoin:calendar:*`), `owner:calendar` or `source:mcp`.").Check(checkPattern),
		config.Texts("deny", &r.deny, "Tools that do not exist, whatever `allow` says. Patterns are as in `allow`.").Check(checkPattern),
	}
}

func (r *rulesFile) rules() policy.Rules { return policy.Rules{Allow: r.allow, Deny: r.deny} }

func checkPattern(pattern string) error {
	_, err := policy.Rules{Allow: []string{pattern}}.Compile()
	var pe *policy.PatternError
	if errors.As(err, &pe) {
		return fmt.Errorf("a pattern of tools: %s", pe.Want)
	}
	return err
}

func quotaFields(q *host.Quotas) []config.Field {
	const each = "of suspended runs, guest workers, pending approvals, the other quotas, and the server's requests, streams and bodies."
	return []config.Field{
		config.Int("sessionPercent", &q.SessionPercent, codemode.Ranges().QuotaSessionPercent.Min, codemode.Ranges().QuotaSessionPercent.Max, "The share, in percent, that one session may have "+each+" Callers without an identity are one session."),
		config.Int("agentPercent", &q.AgentPercent, codemode.Ranges().QuotaAgentPercent.Min, codemode.Ranges().QuotaAgentPercent.Max, "The share, in percent, that all sessions of one agent together may have "+each),
		config.Int("heldBytes", &q.HeldBytes, codemode.Ranges().QuotaHeldBytes.Min, codemode.Ranges().QuotaHeldBytes.Max, "Bytes of arguments, answers, output and images that all runs together may make the host hold in memory."),
		config.Int("storedBytes", &q.StoredBytes, codemode.Ranges().QuotaStoredBytes.Min, codemode.Ranges().QuotaStoredBytes.Max, "Bytes of the suspended runs that one host has stored."),
		config.Int("callsInFlight", &q.Calls, codemode.Ranges().QuotaCalls.Min, codemode.Ranges().QuotaCalls.Max, "Tool calls of all runs that are in flight at one moment. A call beyond that is rejected with the code `quota_exceeded`."),
		config.Int("cpuSecondsPerHour", &q.CPUSecondsPerHour, codemode.Ranges().QuotaCPU.Min, codemode.Ranges().QuotaCPU.Max, "Processor time of the guests of one host in any hour. Once it is used up, no program starts and no run continues until some of it is an hour ago."),
	}
}

func (s *ServerFile) fields() []config.Field {
	return []config.Field{
		config.Text("listen", &s.Listen, "Address and port. Beyond loopback a token is required.").Check(checkListen),
		config.Text("tokenFile", &s.TokenFile, "File with the bearer token that callers must show."),
		config.Texts("hosts", &s.Hosts, "Names that requests over loopback may be addressed to besides localhost: those of a proxy in front."),
		config.Int("maxBodyBytes", &s.MaxBodyBytes, 1<<10, 64<<20, "Body of one request."),
		config.Int("maxCalls", &s.MaxCalls, 1, 100_000, "`exec` and `wait` requests under way."),
		config.Int("maxStreams", &s.MaxStreams, 1, 10_000, "Event streams that are open."),
		config.Int("advance", &s.Advance, 0, 1000, "Suspended runs that continue at once without a caller. `0`: a suspended run continues when it is waited for."),
	}
}

func (l *LogFile) fields() []config.Field {
	return []config.Field{
		config.Choice("level", &l.Level, []LogLevel{LogDebug, LogInfo, LogWarn, LogError}, "The least level of the lines that are written. Unless it is given, `quoin serve` writes `info` and other commands `warn`.").
			Alias("DEBUG", "debug").Alias("INFO", "info").Alias("WARN", "warn").Alias("ERROR", "error"),
		config.Choice("format", &l.Format, []LogFormat{LogText, LogJSON}, "How a line is written: `text` is key=value pairs, `json` one JSON object a line."),
		config.Bool("access", &l.Access, "Whether `quoin serve` logs every request that it has answered: method, path, status, bytes, time and session."),
	}
}

func (t *TrajectoryFile) fields() []config.Field {
	return []config.Field{
		config.Bool("recordBodies", &t.Bodies, "Whether programs, inputs and outputs are recorded, redacted and capped; sizes always are. Redaction is no guarantee: keep such records as you keep secrets."),
		config.Int("maxFileBytes", &t.MaxFileBytes, 64<<10, 1<<30, "Record of one run; further calls are only counted."),
		config.Int("maxTotalBytes", &t.MaxTotalBytes, 1<<20, 1<<40, "All records; the oldest go first."),
		config.Int("maxRuns", &t.MaxRuns, 1, 1_000_000, "Runs with a record; the oldest go first."),
		config.Duration("maxAgeHours", &t.MaxAge, time.Hour, 1, 24*3660, "How long a record is kept after its run's last event."),
	}
}

func checkListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" || strings.TrimSpace(address) != address {
		return errors.New(`an address and a port such as "127.0.0.1:8787" or ":8787"`)
	}
	return nil
}
