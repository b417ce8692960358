package configfile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// everything is a file that gives each limit of code mode a value of its own.
const everything = `{
	// comment
	tools: { codeMode: {
		enabled: true, runtime: "quickjs", mode: 'only', languages: ["typescript"], timeoutMs: 500, waitMs: 600, cpuBudgetMs: 700, memoryLimitBytes: 2e6,
		maxOutputBytes: 2000, maxSnapshotBytes: 3000, maxPendingToolCalls: 3, snapshotTtlSeconds: 4, undoTtlSeconds: 5, maxSuspendedRuns: 5,
		searchDefaultLimit: 6, maxSearchLimit: 7, onOutputLimit: "truncate", isolation: "best-effort",
		models: { "ollama/*": "off", "*": "auto" }, autoSharePercent: 8, contextWindowTokens: 64000,
	} },
}`

// LoadFile reads a file and nothing else.
func LoadFile(path string) (*File, error) { return Load(Sources{Path: path}) }

func TestLoadFile(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       func(*host.Settings)
	}{
		{"empty object", `{}`, func(*host.Settings) {}},
		{"nothing of code mode", `{tools:{deny:["x"]}}`, func(*host.Settings) {}},
		{"shorthand", `{tools:{codeMode:true}}`, func(*host.Settings) {}},
		{"shorthand off", `{tools:{codeMode:false}}`, func(s *host.Settings) { s.Disabled = true }},
		{"not enabled", `{tools:{codeMode:{timeoutMs:500}}}`, func(s *host.Settings) { s.Disabled, s.Timeout = true, 500*time.Millisecond }},
		{"enabled says no", `{tools:{codeMode:{enabled:false}}}`, func(s *host.Settings) { s.Disabled = true }},
		{"the other name of the runtime", `{tools:{codeMode:{enabled:true,runtime:"quickjs-wasi"}}}`, func(*host.Settings) {}},
		{"everything", everything, func(s *host.Settings) {
			*s = host.Settings{
				Languages: []string{"typescript"}, Timeout: 500 * time.Millisecond, Wait: 600 * time.Millisecond, CPUBudget: 700 * time.Millisecond, MemoryLimit: 2e6, MaxOutput: 2000,
				Isolation: host.IsolationBestEffort, OnOutputLimit: codemode.OutputTruncate, MaxSnapshot: 3000, MaxPendingCalls: 3, MaxApprovals: 100, SnapshotTTL: 4 * time.Second, UndoTTL: 5 * time.Second,
				MaxSuspended: 5, SearchLimit: 6, MaxSearchLimit: 7, AutoShare: 8, ContextWindow: 64_000,
				Models: map[string]codemode.Activation{"ollama/*": codemode.ActivationOff, "*": codemode.ActivationAuto},
			}
		}},
		{"out of range is clamped", `{tools:{codeMode:{enabled:true,timeoutMs:0,maxPendingToolCalls:1e300}}}`, func(s *host.Settings) {
			s.Timeout, s.MaxPendingCalls = 100*time.Millisecond, 128
		}},
		{"one limit clamps another", `{tools:{codeMode:{enabled:true,searchDefaultLimit:40,maxSearchLimit:20}}}`, func(s *host.Settings) {
			s.SearchLimit, s.MaxSearchLimit = 20, 20
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := host.Settings{Isolation: host.IsolationRequired}.WithDefaults()
			tc.want(&want)
			got, err := LoadFile(write(t, tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got.Settings); d != "" {
				t.Errorf("settings (-want +got):\n%s", d)
			}
		})
	}
}

// TestAgents lays the settings of an agent over the settings of everybody, from every
// source.
func TestAgents(t *testing.T) {
	f, err := Load(Sources{
		Path: write(t, `{
			agents: {
				scout: { tools: { codeMode: { timeoutMs: 200, models: { a: "off" } }, deny: ["*_delete"] } },
				off: { tools: { codeMode: false } },
				same: {},
			},
			sessions: { "room 7": { allow: [] } },
			tools: { codeMode: { enabled: true, timeoutMs: 300, maxOutputBytes: 4096, models: { b: "on" } }, allow: ["owner:calendar"] },
		}`),
		Environ: []string{"QUOIN_CODE_MODE_MAX_OUTPUT_BYTES=5000"},
	})
	if err != nil {
		t.Fatal(err)
	}
	base := host.Settings{Isolation: host.IsolationRequired, Timeout: 300 * time.Millisecond, MaxOutput: 5000, Models: map[string]codemode.Activation{"b": codemode.ActivationOn}}.WithDefaults()
	scout, off := base, base
	scout.Timeout, scout.Models = 200*time.Millisecond, map[string]codemode.Activation{"a": codemode.ActivationOff}
	off.Disabled = true
	if d := cmp.Diff(map[string]host.Settings{"scout": scout, "off": off, "same": base}, f.Agents); d != "" {
		t.Errorf("agents (-want +got):\n%s", d)
	}
	want := policy.Scopes{
		Rules:    policy.Rules{Allow: []string{"owner:calendar"}},
		Agents:   map[string]policy.Rules{"scout": {Deny: []string{"*_delete"}}, "off": {}, "same": {}},
		Sessions: map[string]policy.Rules{"room 7": {Allow: []string{}}},
	}
	if d := cmp.Diff(want, f.Policy); d != "" {
		t.Errorf("policy (-want +got):\n%s", d)
	}
	rules, err := f.Policy.Compile()
	if err != nil || rules.For("", "room 7").Allows(policy.Tool{Source: "quoin", Owner: "calendar", Name: "today"}) {
		t.Errorf("an empty allow list leaves a tool (%v)", err)
	}
}

// TestPrecedence: flags over environment over file over defaults.
func TestPrecedence(t *testing.T) {
	file := write(t, `{tools:{codeMode:{enabled:true,timeoutMs:1000,maxOutputBytes:2000,languages:["javascript"]}}}`)
	f, err := Load(Sources{
		Path:    file,
		Environ: []string{"QUOIN_CODE_MODE_TIMEOUT_MS=2000", "QUOIN_CODE_MODE_LANGUAGES=typescript, javascript", "QUOIN_CODE_MODE_ENABLED=false", "HOME=/", "QUOIN_SERVER_LISTEN=:99"},
		Set:     []string{"tools.codeMode.timeoutMs=3e3", "tools.codeMode.enabled=true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range f.Report.Values {
		got[v.Field] = v.Origin.String()
	}
	for field, want := range map[string]string{
		"tools.codeMode.timeoutMs":        "--set",
		"tools.codeMode.enabled":          "--set",
		"tools.codeMode.languages":        "QUOIN_CODE_MODE_LANGUAGES",
		"tools.codeMode.maxOutputBytes":   file + ":1:62",
		"tools.codeMode.maxSnapshotBytes": "default",
		"server.listen":                   "QUOIN_SERVER_LISTEN",
	} {
		if got[field] != want {
			t.Errorf("%s comes from %q, want %q", field, got[field], want)
		}
	}
	s := f.Settings
	if s.Disabled || s.Timeout != 3*time.Second || s.MaxOutput != 2000 || len(s.Languages) != 2 || f.Server.Listen != ":99" {
		t.Errorf("got %+v", s)
	}
	if !f.Given("tools.codeMode.maxOutputBytes") || f.Given("tools.codeMode.maxSnapshotBytes") {
		t.Error("Given does not tell a default from a value")
	}
}

func TestLoadFileRefusals(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"broken text", `{`, "1:2: the text is not JSON5: the text ends here"},
		{"no text", ``, "1:1: the text is not JSON5"},
		{"a list", `[]`, "1:1: is an empty list, expected an object"},
		{"unknown part", `{tool:{}}`, "1:2: tool is no such field; did you mean tools?"},
		{"pasted servers", `{mcpServers:{fs:{command:"npx"}}}`, "1:2: mcpServers is no such field; put its servers into mcp.servers: {mcp: {servers: {NAME: {command: …}}}}"},
		{"unknown field", `{tools:{codeMode:{timeout:1}}}`, "1:19: tools.codeMode.timeout is no such field; did you mean timeoutMs?"},
		{"unlike any field", `{tools:{codeMode:{zzz:1}}}`, "the fields here are enabled, languages"},
		{"text for a number", `{tools:{codeMode:{timeoutMs:"10s"}}}`, `1:29: tools.codeMode.timeoutMs is "10s", expected an integer from 100 to 60000`},
		{"no policy", `{tools:{codeMode:{isolation:"none"}}}`, `expected one of "required", "strict", "best-effort"`},
		{"fraction", `{tools:{codeMode:{timeoutMs:100.5}}}`, "is 100.5, expected an integer"},
		{"not a number", `{tools:{codeMode:{timeoutMs:NaN}}}`, "is NaN, expected an integer"},
		{"infinite", `{tools:{codeMode:{timeoutMs:Infinity}}}`, "is Infinity, expected an integer"},
		{"number for a flag", `{tools:{codeMode:{enabled:1}}}`, "tools.codeMode.enabled is 1, expected true or false"},
		{"text for code mode", `{tools:{codeMode:"true"}}`, `tools.codeMode is "true", expected true, false or an object`},
		{"another runtime", `{tools:{codeMode:{runtime:"v8"}}}`, `expected one of "quickjs"`},
		{"another mode", `{tools:{codeMode:{mode:"also"}}}`, `expected one of "only"`},
		{"no languages", `{tools:{codeMode:{languages:[]}}}`, "tools.codeMode.languages is an empty list, expected a list of one or more of"},
		{"another language", `{tools:{codeMode:{languages:["javascript","python"]}}}`, `tools.codeMode.languages[1] is "python"`},
		{"a language twice", `{tools:{codeMode:{languages:["javascript","javascript"]}}}`, "which the list has already"},
		{"a slip in a language", `{tools:{codeMode:{languages:["javscript"]}}}`, `did you mean "javascript"?`},
		{"another output policy", `{tools:{codeMode:{onOutputLimit:"ignore"}}}`, `expected one of "fail", "truncate"`},
		{"another activation", `{tools:{codeMode:{models:{"gpt*":"yes"}}}}`, `tools.codeMode.models.gpt* is "yes", expected one of "on", "off", "auto"`},
		{"a bad pattern", `{tools:{deny:["nobody:calendar"]}}`, `tools.deny[0] is "nobody:calendar", expected a pattern of tools`},
		{"a host's field for an agent", `{agents:{a:{tools:{codeMode:{isolation:"required"}}}}}`, "agents.a.tools.codeMode.isolation is no such field"},
		{"guest path", `{guest:{path:7}}`, "guest.path is 7, expected a text"},
		{"plugin configurations", `{plugins:{config:[]}}`, "expected an object with one entry per plugin id"},
		{"a configuration JSON cannot hold", `{plugins:{config:{a:{b:NaN}}}}`, "plugins.config.a is an object, expected a value that JSON can hold"},
		{"no address", `{server:{listen:"8080"}}`, `server.listen is "8080", expected an address and a port`},
		{"a field twice", "{tools:{codeMode:{enabled:true,\nenabled:false}}}", "2:1: tools.codeMode.enabled stands twice, first at 1:19"},
		{"an entry twice", `{plugins:{config:{a:1,a:2}}}`, "plugins.config.a stands twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := LoadFile(write(t, tc.text))
			var ce *Error
			if f != nil || !errors.As(err, &ce) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %q", err, tc.want)
			}
		})
	}
	if _, err := LoadFile(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

// TestLoadReportsEverything: one reading finds every fault of every source.
func TestLoadReportsEverything(t *testing.T) {
	file := write(t, "{\n tools: {codeMode: {timeoutMs: '1', languages: ['perl', 1]},\n  allow: 7 },\n agents: {a: {tool: 1}},\n guest: {path: 1, maxWorkers: 0},\n}")
	_, err := Load(Sources{
		Path:    file,
		Environ: []string{"QUOIN_CODE_MODE_ENABLED=yes"},
		Set:     []string{"server.listn=:1", "nonsense", "server.maxCalls=many"},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		file + `:2:32: tools.codeMode.timeoutMs is "1", expected an integer from 100 to 60000`,
		file + `:2:49: tools.codeMode.languages[0] is "perl", expected one of "javascript", "typescript"`,
		file + `:2:57: tools.codeMode.languages[1] is 1, expected a text`,
		file + `:3:10: tools.allow is 7, expected a list of texts`,
		file + `:4:15: agents.a.tool is no such field; did you mean tools?`,
		file + `:5:16: guest.path is 1, expected a text`,
		`QUOIN_CODE_MODE_ENABLED: tools.codeMode.enabled is "yes", expected true or false`,
		`--set: server.listn is no field that can be set here; did you mean server.listen?`,
		`--set: "nonsense" has no =, expected FIELD=VALUE such as tools.codeMode.timeoutMs=5000`,
		`--set: server.maxCalls is "many", expected an integer from 1 to 100000`,
	}
	if d := cmp.Diff(want, strings.Split(err.Error(), "\n")); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
}

func TestWarnings(t *testing.T) {
	file := write(t, `{tools:{codeMode:{timeoutMs:5,memoryLimitBytes:1e15,searchDefaultLimit:40,maxSearchLimit:20}}}`)
	f, err := Load(Sources{Path: file, Environ: []string{"QUOIN_CODE_MODE_TIMEOUT=5", "QUOIN_DEBUG_CODE_MODE=1", "QUOIN_SERVER_PORT=tcp://10.0.0.1:80"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range f.Report.Warnings {
		got = append(got, w.String())
	}
	want := []string{
		file + `:1:29: tools.codeMode.timeoutMs is 5, below the least it can be; 100 is used (range 100 to 60000)`,
		file + `:1:48: tools.codeMode.memoryLimitBytes is 1e15, above the most it can be; 1073741824 is used (range 1048576 to 1073741824)`,
		`QUOIN_CODE_MODE_TIMEOUT: this variable sets no field; did you mean QUOIN_CODE_MODE_TIMEOUT_MS?`,
		file + `:1:72: tools.codeMode.searchDefaultLimit is 40, more than maxSearchLimit; 20 is used`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

func TestPluginConfig(t *testing.T) {
	f, err := LoadFile(write(t, `{plugins:{dir:"p",config:{calendar:{timeZone:'Europe/Paris',n:0x10}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]json.RawMessage{"calendar": json.RawMessage(`{"timeZone":"Europe/Paris","n":16}`)}
	if d := cmp.Diff(want, f.Config().Plugins.Config); d != "" || f.Config().Plugins.Dir != "p" {
		t.Errorf("plugins (-want +got):\n%s", d)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "quoin.json5")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// FuzzLoadFile: whatever a file holds, it is read or refused with a place for
// every problem; what is read is in range.
func FuzzLoadFile(f *testing.F) {
	for _, s := range []string{
		`{}`, `{tools:{codeMode:{enabled:true}}}`, `{tools:{codeMode:{timeoutMs:-0}}}`, "\x00", `{a:'\u2028'}`, everything,
		`{agents:{a:{tools:{codeMode:true,allow:[]}}},sessions:{s:{deny:["*"]}}}`, `{plugins:{config:{a:{b:[NaN]}}},server:{listen:":1"}}`,
	} {
		f.Add(s, "", "")
	}
	f.Add(`{}`, "QUOIN_CODE_MODE_TIMEOUT_MS=1e3", "tools.deny=a,b")
	f.Add(`{}`, "QUOIN_CODE_MODE_LANGUAGES=[1", "tools.codeMode.enabled")
	name := filepath.Join(f.TempDir(), "quoin.json5")
	f.Fuzz(func(t *testing.T, text, env, set string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Sources{Path: name, Environ: []string{env}, Set: []string{set}})
		if err != nil {
			checkConfigError(t, err, name)
			return
		}
		if d := cmp.Diff(c.Settings, c.Settings.WithDefaults()); d != "" {
			t.Errorf("settings out of range: %s", d)
		}
		if _, err := c.Policy.Compile(); err != nil {
			t.Errorf("accepted rules that are none: %v", err)
		}
		for id, b := range c.PluginConfig {
			if !json.Valid(b) {
				t.Errorf("the configuration of %q is %q", id, b)
			}
		}
	})
}

func checkConfigError(t *testing.T, err error, file string) {
	var ce *Error
	if !errors.As(err, &ce) || len(ce.Problems) == 0 {
		t.Fatalf("refused with %#v", err)
	}
	for _, p := range ce.Problems {
		if p.Message == "" || (p.Source == file) != (p.Line > 0 && p.Column > 0) || len(p.Message) > 2000 {
			t.Errorf("problem %+v", p)
		}
	}
}
