package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"time"

	"github.com/quoinhq/quoin/internal/shell/egress"
)

// PluginID is the id of the shell plugin.
const PluginID = "shell"

// Host is where a command runs.
type Host string

// The hosts.
const (
	Sandbox Host = "sandbox" // in namespaces of its own
	Gateway Host = "gateway" // next to the plugin, as its user
	Node    Host = "node"    // on another machine
)

// Security says which commands may run.
type Security string

// The security modes, from the strictest.
const (
	Deny      Security = "deny"      // no command
	Allowlist Security = "allowlist" // what is on the allow-list, and what a person approves
	Full      Security = "full"      // every one
)

// Ask says when a person is asked.
type Ask string

// The ask modes, from the laxest.
const (
	AskOff    Ask = "off"     // never: what the security mode does not allow is refused
	AskOnMiss Ask = "on-miss" // about what the security mode does not allow
	AskAlways Ask = "always"  // about every command
)

// Settings are plugins.shell. Durations are in the unit of their name.
type Settings struct {
	// Enabled is looked at by the host alone, which does not start the plugin without.
	Enabled bool `json:"enabled,omitempty"`
	// Host is where commands run that do not say so. Defaults to sandbox.
	Host Host `json:"host,omitempty"`
	// Node is the node that commands with the host node run on.
	Node string `json:"node,omitempty"`
	// Nodes are the machines that commands may run on, by name: ssh://user@host:port.
	Nodes map[string]string `json:"nodes,omitempty"`
	// Security defaults to allowlist, Ask to on-miss.
	Security Security `json:"security,omitempty"`
	Ask      Ask      `json:"ask,omitempty"`
	// Allow is the allow-list, as the first words of commands: "echo", "git status".
	Allow []string `json:"allow,omitempty"`
	// Rules are entries of the allow-list with examples.
	Rules []Rule `json:"rules,omitempty"`
	// Path are the directories that executables are taken from. Others count as
	// unknown. Defaults to the system's.
	Path []string `json:"path,omitempty"`
	// Elevated says who may run commands without the sandbox and as another user.
	Elevated Elevated `json:"elevated,omitzero"`
	// Workdir is the directory of commands that do not name one. Defaults to the directory
	// work in the plugin's data directory.
	Workdir string `json:"workdir,omitempty"`
	// Env are variables that every command has.
	Env map[string]string `json:"env,omitempty"`
	// YieldMs is how long exec waits for the end of a command that does not say so.
	YieldMs int64 `json:"yieldMs,omitempty"`
	// TimeoutSeconds is how long a command may run that does not say so.
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
	// NoBackground refuses commands in the background.
	NoBackground bool `json:"noBackground,omitempty"`
	// OutputBytes bounds the output that is kept of each process: the head and the tail.
	OutputBytes int64 `json:"outputBytes,omitempty"`
	// MaxProcesses bounds the running processes of one session, and KeepSeconds how
	// long one that has ended can be looked at.
	MaxProcesses int64 `json:"maxProcesses,omitempty"`
	KeepSeconds  int64 `json:"keepSeconds,omitempty"`
	// ApprovalTimeoutSeconds is how long a person has to decide about a command. No
	// decision in time denies.
	ApprovalTimeoutSeconds int64 `json:"approvalTimeoutSeconds,omitempty"`
	// Sandbox says what commands in the sandbox see.
	Sandbox SandboxSettings `json:"sandbox,omitzero"`
}

// Rule is an entry of the allow-list.
type Rule struct {
	// Command is the executable and the words that must follow it, each a pattern in
	// which * stands for any characters, but for the characters of an option. A last
	// word of ** accepts more words, if the words of the program are known not to do
	// more than read.
	Command []string `json:"command"`
	// Match and NotMatch are examples, which are checked when the rule is read.
	Match    []string `json:"match,omitempty"`
	NotMatch []string `json:"notMatch,omitempty"`
}

// Elevated says who may run commands without the sandbox and as another user.
type Elevated struct {
	// Enabled is needed for any.
	Enabled bool `json:"enabled,omitempty"`
	// Agents are the ids of the agents that may. Empty allows no one.
	Agents []string `json:"agents,omitempty"`
	// Full lets such commands run without the allow-list and without an approval.
	Full bool `json:"full,omitempty"`
	// Prefix is put before an elevated command: ["/usr/bin/sudo", "-n"]. Empty runs it
	// as the plugin's user.
	Prefix []string `json:"prefix,omitempty"`
}

// SandboxSettings say what commands in the sandbox see.
type SandboxSettings struct {
	// Read and Write are directories of the machine, next to the system's and the
	// working directory. Deny are paths below them that are hidden.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// Domains are names that may be reached over HTTP and HTTPS: "api.example.com",
	// "*.example.net". Empty means no network at all.
	Domains []string `json:"domains,omitempty"`
	// MemoryBytes bounds the memory of each process of a command, Processes their
	// number, FileBytes the size of a file.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	Processes   int64 `json:"processes,omitempty"`
	FileBytes   int64 `json:"fileBytes,omitempty"`
	// Required refuses to run where a layer of the sandbox cannot be had. Defaults to
	// true.
	Required *bool `json:"required,omitempty"`
}

// The bounds that the parts of the plugin share.
const (
	MaxCommandBytes = 4 << 10 // of a command: more cannot be shown whole to a person
	MinYield        = 10 * time.Millisecond
	MaxYield        = 2 * time.Minute
)

// Parse reads a configuration, and fills in the defaults.
func Parse(raw []byte) (*Settings, error) {
	s := &Settings{}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(s); err != nil {
			return nil, err
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, errors.New("there is more than one value")
		}
	}
	s.fillIn()
	return s, s.check()
}

func (s *Settings) fillIn() {
	orDefault(&s.Host, Sandbox)
	orDefault(&s.Security, Allowlist)
	orDefault(&s.Ask, AskOnMiss)
	orDefault(&s.YieldMs, 10_000)
	orDefault(&s.TimeoutSeconds, 1800)
	orDefault(&s.OutputBytes, 200_000)
	orDefault(&s.MaxProcesses, 16)
	orDefault(&s.KeepSeconds, 1800)
	orDefault(&s.ApprovalTimeoutSeconds, 1800)
	orDefault(&s.Sandbox.MemoryBytes, 2<<30)
	orDefault(&s.Sandbox.Processes, 256)
	orDefault(&s.Sandbox.FileBytes, 2<<30)
	if s.Sandbox.Required == nil {
		s.Sandbox.Required = new(true)
	}
	if s.Path == nil {
		s.Path = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	}
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// check refuses what does not fit. Rules are checked by the package that reads them.
// variableName matches the names that a shell can read.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (s *Settings) check() error {
	switch s.Host {
	case Sandbox, Gateway, Node:
	default:
		return fmt.Errorf("host: %q is not sandbox, gateway or node", s.Host)
	}
	switch s.Security {
	case Deny, Allowlist, Full:
	default:
		return fmt.Errorf("security: %q is not deny, allowlist or full", s.Security)
	}
	switch s.Ask {
	case AskOff, AskOnMiss, AskAlways:
	default:
		return fmt.Errorf("ask: %q is not off, on-miss or always", s.Ask)
	}
	for field, paths := range map[string][]string{"path": s.Path, "sandbox.read": s.Sandbox.Read, "sandbox.write": s.Sandbox.Write, "sandbox.deny": s.Sandbox.Deny} {
		for _, p := range paths {
			if !filepath.IsAbs(p) {
				return fmt.Errorf("%s: %q is not an absolute path", field, p)
			}
		}
	}
	if s.Workdir != "" && !filepath.IsAbs(s.Workdir) {
		return fmt.Errorf("workdir: %q is not an absolute path", s.Workdir)
	}
	for name := range s.Env {
		if !variableName.MatchString(name) {
			return fmt.Errorf("env: %q is not the name of a variable: use letters, digits and _", name)
		}
	}
	if err := egress.CheckDomains(s.Sandbox.Domains); err != nil {
		return fmt.Errorf("sandbox.domains: %w", err)
	}
	return errors.Join(s.checkPrefix(), s.checkNumbers(), s.checkNodes())
}
