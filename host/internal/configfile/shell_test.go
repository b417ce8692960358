package configfile

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

func loadText(text string, set ...string) (*File, error) {
	return Load(Sources{Path: "quoin.json5", Text: []byte(text), Set: set})
}

// TestShellIsOffUnlessEnabled: nothing else about it starts it.
func TestShellIsOffUnlessEnabled(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 0, `{plugins: {shell: {security: "full"}}}`: 0, `{plugins: {shell: {enabled: false}}}`: 0, `{plugins: {shell: {enabled: true}}}`: 1,
	} {
		f, err := loadText(text)
		if err != nil {
			t.Fatal(err)
		}
		c := f.Config().Plugins
		if _, given := c.Config[settings.PluginID]; len(c.Bundled) != want || given != (want == 1) {
			t.Errorf("%s: %+v, want %d", text, c, want)
		}
	}
	f, err := loadText(`{}`, "plugins.shell.enabled=true")
	if err != nil || len(f.Config().Plugins.Bundled) != 1 || f.Config().Plugins.Bundled[0].CallTimeout < 30*time.Minute {
		t.Errorf("%v: %+v", err, f.Config().Plugins)
	}
}

// TestShellIsAPluginThatIsThere: no directory of plugins has it, and no warning says so.
func TestShellIsAPluginThatIsThere(t *testing.T) {
	f, err := loadText(`{plugins: {shell: {enabled: true}, config: {shel: {}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.UnusedSettings(t.TempDir())
	if err != nil || len(got) != 1 || got[0].Field != "plugins.config.shel" || got[0].Nearest != "shell" {
		t.Errorf("%v: %+v, want a warning about shel alone", err, got)
	}
}

// TestShellReachesThePlugin as the plugin reads it, with everything that the file says.
func TestShellReachesThePlugin(t *testing.T) {
	f, err := loadText(`{plugins: {shell: {
		enabled: true, host: "gateway", node: "far", nodes: {far: "ssh://far@far.example:22"}, security: "full", ask: "always", allow: ["echo", "git status"],
		rules: [{command: ["ls", "*"], match: ["ls a"], notMatch: ["rm a"]}, {command: ["cat"]}],
		path: ["/usr/bin"], elevated: {enabled: true, agents: ["ops"], full: true, prefix: ["/usr/bin/sudo", "-n"]},
		workdir: "/srv/work", env: {A: "1"}, yieldMs: 20, timeoutSeconds: 5, noBackground: true, outputBytes: 4096,
		maxProcesses: 3, keepSeconds: 7, approvalTimeoutSeconds: 9,
		sandbox: {read: ["/srv/a"], write: ["/srv/b"], deny: ["/srv/b/c"], domains: ["*.example.net"], memoryBytes: 33554432, processes: 9, fileBytes: 2048, required: false},
	}}}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := settings.Parse(f.Config().Plugins.Config[settings.PluginID])
	want := &settings.Settings{
		Enabled: true, Host: settings.Gateway, Node: "far", Nodes: map[string]string{"far": "ssh://far@far.example:22"}, Security: settings.Full, Ask: settings.AskAlways, Allow: []string{"echo", "git status"},
		Rules: []settings.Rule{{Command: []string{"ls", "*"}, Match: []string{"ls a"}, NotMatch: []string{"rm a"}}, {Command: []string{"cat"}}},
		Path:  []string{"/usr/bin"}, Elevated: settings.Elevated{Enabled: true, Agents: []string{"ops"}, Full: true, Prefix: []string{"/usr/bin/sudo", "-n"}},
		Workdir: "/srv/work", Env: map[string]string{"A": "1"}, YieldMs: 20, TimeoutSeconds: 5, NoBackground: true, OutputBytes: 4096,
		MaxProcesses: 3, KeepSeconds: 7, ApprovalTimeoutSeconds: 9,
		Sandbox: settings.SandboxSettings{Read: []string{"/srv/a"}, Write: []string{"/srv/b"}, Deny: []string{"/srv/b/c"}, Domains: []string{"*.example.net"},
			MemoryBytes: 32 << 20, Processes: 9, FileBytes: 2048, Required: new(false)},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// TestShellDefaults compares the defaults to the plugin's own, so that the reference tells
// the truth.
func TestShellDefaults(t *testing.T) {
	f, err := loadText(`{plugins: {shell: {enabled: true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	want, err := settings.Parse(json.RawMessage(`{"enabled":true}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := settings.Parse(f.Config().Plugins.Config[settings.PluginID])
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestShellMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{plugins: {shell: {hots: "sandbox"}}}`:                  "hots",
		`{plugins: {shell: {host: "cloud"}}}`:                    "sandbox",
		`{plugins: {shell: {enabled: true, workdir: "work"}}}`:   "not an absolute path",
		`{plugins: {shell: {nodes: {far: "far.example"}}}}`:      "plugins.shell.nodes.far",
		`{plugins: {shell: {nodes: {"-v": "ssh://a@b"}}}}`:       "lower-case letters",
		`{plugins: {shell: {node: "far"}}}`:                      "plugins.shell.nodes has no node",
		`{plugins: {shell: {sandbox: {read: ["~"]}}}}`:           "sandbox.read",
		`{plugins: {config: {shell: {security: "full"}}}}`:       "write its fields in plugins.shell",
		`{plugins: {shell: {rules: [{command: ["a"], no: 1}]}}}`: "no",
	} {
		if _, err := loadText(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestTheSandboxHidesEveryFileOfTheConfiguration goes through all fields that name a file, so that a new one is hidden.
func TestTheSandboxHidesEveryFileOfTheConfiguration(t *testing.T) {
	t.Parallel()
	f, err := Load(Sources{Text: []byte(`{
		plugins: {shell: {enabled: true, sandbox: {deny: ["/srv/own"]}}, secrets: {a: {token: "file:/s/plugin"}}},
		mcp: {servers: {m: {url: "https://x.example/mcp", oauth: {clientId: "c", clientSecret: "file:/s/oauth"}}}},
		state: {url: "file:/s/url", keyFile: "/s/state.key"}, server: {tokenFile: "/s/token"}, cluster: {listen: "127.0.0.1:1", advertise: "x:1", secret: "file:/s/cluster"},
	}`)})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := f.ShellConfig()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/srv/own", "/s/plugin", "/s/oauth", "/s/url", "/s/state.key", "/s/token", "/s/cluster"} {
		if !strings.Contains(string(raw), `"`+path+`"`) {
			t.Errorf("%s is not hidden: %s", path, raw)
		}
	}
	for _, v := range f.Report.Values { // the secrets above are all there are
		if text, _ := v.Value.(string); strings.HasSuffix(v.Field, "File") && text == "" && !strings.HasPrefix(v.Field, "cluster.") {
			t.Errorf("%s is not part of this test", v.Field)
		}
	}
}
