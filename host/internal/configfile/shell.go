package configfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// shellCallTimeout bounds a call of the shell plugin: waiting for a command costs nothing.
const shellCallTimeout = 35 * time.Minute

// newShell returns the defaults of plugins.shell.
func newShell() *settings.Settings {
	s, err := settings.Parse(nil)
	if err != nil {
		panic("configfile: the defaults of plugins.shell are not valid: " + err.Error())
	}
	s.Env, s.Nodes = map[string]string{}, map[string]string{}
	return s
}

// shellFields are plugins.shell.
func (f *File) shellFields() []config.Field {
	s := f.shell
	return []config.Field{
		config.Bool("enabled", &s.Enabled, "Starts the plugin: programs get the tools `exec` and `process`, and `Shell`."),
		config.Choice("host", &s.Host, []settings.Host{settings.Sandbox, settings.Gateway, settings.Node},
			"Where commands run that do not say so: in a sandbox, next to the host as its user, or on another machine."),
		config.Text("node", &s.Node, "The node that commands with the host `node` run on, unless they name one."),
		config.Map("nodes", "node name", func(name string) config.Field { return entryOf(s.Nodes)(name).Check(settings.CheckNodeAddress) },
			"Machines that commands may run on: `\"ssh://user@host\"`, or `\"ssh://user@host:port\"`. They need a Quoin of the same version, and the host's user a key that ssh takes without asking.").CheckKey(settings.CheckNodeName),
		config.Choice("security", &s.Security, []settings.Security{settings.Deny, settings.Allowlist, settings.Full},
			"Which commands run: none, those of the allow-list and those that a person approves, or all. A call can ask for a stricter mode, never for a laxer one."),
		config.Choice("ask", &s.Ask, []settings.Ask{settings.AskOff, settings.AskOnMiss, settings.AskAlways},
			"When a person is asked: never, about what `security` does not allow, or about every command. A call can ask for more, never for less."),
		config.Texts("allow", &s.Allow, "The allow-list: commands with the words that must follow, such as `\"echo\"` or `\"git status\"`. It judges what a command line would really run."),
		config.List("rules", f.shellRule, "Entries of the allow-list with examples."),
		config.Texts("path", &s.Path, "Directories that executables are taken from."),
		config.Object("elevated", []config.Field{
			config.Bool("enabled", &s.Elevated.Enabled, "Lets calls ask to run without the sandbox."),
			config.Texts("agents", &s.Elevated.Agents, "Ids of the agents that may. Without any, no agent may."),
			config.Bool("full", &s.Elevated.Full, "Runs such commands without the allow-list and without an approval."),
			config.Texts("prefix", &s.Elevated.Prefix, "Put before such a command: `[\"/usr/bin/sudo\", \"-n\"]`."),
		}, "Commands outside of the sandbox, and as another user."),
		config.Text("workdir", &s.Workdir, "The directory of commands that do not name one, as an absolute path. Without it: `work` in the plugin's data directory."),
		config.Map("env", "variable", entryOf(s.Env), "Variables that every command has."),
		config.Int("yieldMs", &s.YieldMs, settings.MinYield.Milliseconds(), settings.MaxYield.Milliseconds(), "How long `exec` waits for the end of a command before it goes on in the background."),
		config.Int("timeoutSeconds", &s.TimeoutSeconds, 1, 7*24*3600, "How long a command may run that does not say so. Then it is killed, with all that it has started."),
		config.Bool("noBackground", &s.NoBackground, "Refuses commands in the background."),
		config.Int("outputBytes", &s.OutputBytes, 1<<10, 16<<20, "Output that is kept of a process: the head and the tail."),
		config.Int("maxProcesses", &s.MaxProcesses, 1, 1024, "Running processes of one session at the most."),
		config.Int("keepSeconds", &s.KeepSeconds, 1, 24*3600, "How long a process that has ended can be looked at."),
		config.Int("approvalTimeoutSeconds", &s.ApprovalTimeoutSeconds, 1, 24*3600, "How long a person has to decide about a command; no decision in time denies."),
		config.Object("sandbox", shellSandboxFields(&s.Sandbox), "What commands in the sandbox see."),
	}
}

func shellSandboxFields(s *settings.SandboxSettings) []config.Field {
	return []config.Field{
		config.Texts("read", &s.Read, "Directories that commands can read, next to the system's, as absolute paths."),
		config.Texts("write", &s.Write, "Directories that commands can write, next to the working directory, as absolute paths."),
		config.Texts("deny", &s.Deny, "Paths below them that are hidden."),
		config.Texts("domains", &s.Domains, "Names that may be reached over HTTP and HTTPS, such as `\"api.example.com\"` or `\"*.example.net\"`. Without any there is no network."),
		config.Int("memoryBytes", &s.MemoryBytes, 16<<20, 1<<40, "Memory of each process."),
		config.Int("processes", &s.Processes, 1, 65_536, "Processes of one command at the most."),
		config.Int("fileBytes", &s.FileBytes, 1<<10, 1<<40, "Size of a file at the most."),
		config.Bool("required", s.Required, "Refuses to run commands where a layer of the sandbox cannot be had."),
	}
}

// shellRule reads one entry of the allow-list.
func (f *File) shellRule(i int) config.Field {
	if len(f.shell.Rules) <= i {
		f.shell.Rules = append(f.shell.Rules, settings.Rule{})
	}
	// The list may move when it grows, so that each entry is read on its own.
	r := &settings.Rule{}
	keep := func() { f.shell.Rules[i] = *r }
	return config.Object(strconv.Itoa(i), []config.Field{
		config.Texts("command", &r.Command, "The executable and the words that must follow it; `*` stands for any characters of a word that is no option, a last `**` for more words that only read.").Then(keep),
		config.Texts("match", &r.Match, "Command lines that the rule must allow, or the plugin does not start.").Then(keep),
		config.Texts("notMatch", &r.NotMatch, "Command lines that it must not allow.").Then(keep),
	}, "One rule.")
}

// checkShell reports what the fields of plugins.shell do not show one by one.
func (f *File) checkShell(path string) error {
	problem := func(field, format string, args ...any) error {
		p := config.Problem{Source: cmp.Or(path, "the configuration"), Field: field, Message: fmt.Sprintf(format, args...)}
		if at, ok := f.Report.Object(field); ok {
			p.Source, p.Line, p.Column = cmp.Or(at.Name, p.Source), at.Line, at.Column
		}
		return &Error{Problems: []config.Problem{p}}
	}
	if _, there := f.PluginConfig[settings.PluginID]; there {
		return problem("plugins.config.shell", "is not read: write its fields in plugins.shell")
	}
	raw, err := f.ShellConfig()
	if err == nil {
		_, err = settings.Parse(raw)
	}
	if err != nil {
		return problem("plugins.shell", "is not valid: %v", err)
	}
	return nil
}

// ShellConfig is plugins.shell as the plugin and a shell-worker read it, whether the plugin is enabled or not. The sandbox hides
// every file that the configuration names for itself.
func (f *File) ShellConfig() (json.RawMessage, error) {
	s := *f.shell
	files, err := f.ownFiles()
	if err != nil {
		return nil, err
	}
	s.Sandbox.Deny = slices.Concat(s.Sandbox.Deny, files)
	return json.Marshal(s)
}

// ownFiles are the absolute paths of all files that fields name: those called …File, and what stands behind file:.
func (f *File) ownFiles() (files []string, err error) {
	for _, v := range f.Report.Values {
		text, _ := v.Value.(string)
		path, ok := strings.CutPrefix(text, "file:")
		if text == "" || !ok && !strings.HasSuffix(v.Field, "File") {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// addShell adds the shell plugin to what a host starts, if it is enabled.
func (f *File) addShell(p *host.PluginConfig) {
	raw, err := f.ShellConfig()
	if err != nil || !f.shell.Enabled { // Load has refused what has no JSON form
		return
	}
	p.Config = maps.Clone(p.Config)
	p.Config[settings.PluginID] = raw
	p.Bundled = append(p.Bundled, host.BundledPlugin{ID: settings.PluginID, CallTimeout: shellCallTimeout})
}
