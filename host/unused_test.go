package host_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/namespaces"
)

// TestUnusedSettings: what a configuration says of tools and plugins that are not there
// is told, with what may have been meant, and goes into the log of a host that starts.
func TestUnusedSettings(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ask, err := policy.ApprovalRule{Tools: []string{"quoin:code_mode:exec", "list_isues", "quoin:programs:weekly", "owner:programs", "quoin:core:save_program", "save_program"}}.Hook("ask")
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, host.Config{
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
		Tools:   []catalog.Tool{echo("list_issues"), echo("list_labels"), owned("get", "notes")},
		MCP:     host.MCPConfig{Servers: []mcp.Server{{Name: "gone", Command: "/nosuchprogram"}}},
		Plugins: host.PluginConfig{Config: map[string]json.RawMessage{"calender": json.RawMessage(`{}`)}, Hooks: map[string][]string{"audit": {"*", "lst_issues"}}},
		Hooks:   []policy.Hook{ask},
		Rules: policy.Scopes{
			Rules:    policy.Rules{Deny: []string{"lst_*", "list_*", "mcp:gone:delete_*", "mcp:gne:*", "client:me:x"}},
			Agents:   map[string]policy.Rules{"scout": {Allow: []string{"owner:note", "owner:notes"}}},
			Sessions: map[string]policy.Rules{"key": {Deny: []string{"quoin:notes:gt", "*"}}},
		},
	})
	var got []string
	for _, u := range h.UnusedSettings() {
		got = append(got, u.String())
	}
	const absent, noOwner = " matches no tool that there is now (1 plugins or MCP servers are not running)", " names an owner of tools that does not exist here"
	want := []string{
		`tools.deny[0]: "lst_*"` + absent + `; did you mean "list_*"?`,
		`tools.deny[3]: "mcp:gne:*"` + noOwner + `; did you mean "mcp:gone:*"?`,
		`agents.scout.tools.allow[0]: "owner:note"` + noOwner + `; did you mean "owner:notes"?`,
		`sessions.key.deny[0]: "quoin:notes:gt"` + absent + `; did you mean "quoin:notes:get"?`,
		`hook "ask" tools[1]: "list_isues"` + absent + `; did you mean "list_issues"?`,
		`plugins.hooks.audit[1]: "lst_issues"` + absent + `; did you mean "list_issues"?`,
		`plugins.config.calender: "calender" is no plugin of the plugin directory`,
		`plugins.hooks.audit: "audit" is no plugin of the plugin directory`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := strings.Count(log.String(), "names something that does not exist"); n != len(want) {
		t.Errorf("the log has %d of %d warnings:\n%s", n, len(want), log.String())
	}
}

// TestUnusedSettingsKnowNoToolsOfCallers: a host without tools of its own says nothing
// of names, which callers may bring.
func TestUnusedSettingsKnowNoToolsOfCallers(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Rules: policy.Scopes{Rules: policy.Rules{Deny: []string{"write_*"}}}})
	if got := h.UnusedSettings(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestUnavailableNamespaces: the operator learns why a namespace is not there.
func TestUnavailableNamespaces(t *testing.T) {
	t.Parallel()
	other := notes("other_get", "other_put")
	other.PluginID, other.ID, other.GlobalName = "other", "other", "Other"
	h := start(t, host.Config{
		Tools:      []catalog.Tool{owned("notes_get", "notes"), owned("other_get", "other")},
		Namespaces: []namespaces.Registration{notes("notes_get"), other},
		Rules:      policy.Scopes{Rules: policy.Rules{Deny: []string{"notes_*"}}},
	})
	got := h.Catalog(host.Session{}).UnavailableNamespaces()
	want := []host.UnavailableNamespace{
		{GlobalName: "Notes", PluginID: "notes", Reason: "it needs all of its tools, and rules deny quoin:notes:notes_get"},
		{GlobalName: "Other", PluginID: "other", Reason: "it needs all of its tools, and plugin other does not offer other_put"},
	}
	slices.SortFunc(got, func(a, b host.UnavailableNamespace) int { return strings.Compare(a.GlobalName, b.GlobalName) })
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRulesOfARunAreBounded: the patterns that a caller gives for one run are few.
func TestRulesOfARunAreBounded(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	many := slices.Repeat([]string{"a"}, 128)
	in := host.ExecInput{Code: "return 1", Rules: policy.Rules{Allow: many, Deny: many}}
	wantValue(t, h.Exec(t.Context(), me, in), "1")
	in.Rules.Deny = append(slices.Clone(many), "b")
	r := h.Exec(t.Context(), me, in)
	wantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput)
	if !strings.Contains(r.Error, "257 patterns, at most 256") {
		t.Error(r.Error)
	}
}

// TestApprovalRulesAreNamedByContent: a rule that moves in the file keeps its name, and
// with it what was decided; one that takes its place has another.
func TestApprovalRulesAreNamedByContent(t *testing.T) {
	t.Parallel()
	names := func(rules string) (out []string) {
		path := filepath.Join(t.TempDir(), "quoin.json5")
		if err := os.WriteFile(path, []byte("{approvals:["+rules+"]}"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := configfile.Load(configfile.Sources{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		for _, hook := range f.Hooks {
			out = append(out, hook.Name)
		}
		return out
	}
	const a, b = `{tools:["x","y"],title:"A"}`, `{tools:["z"],severity:"critical"}`
	first, moved := names(a+","+b), names(b+`,{tools:["y","x"],title:"A",timeoutMs:60000}`)
	if len(first) != 2 || first[0] == first[1] || moved[0] != first[1] || moved[1] != first[0] {
		t.Errorf("%q, moved %q", first, moved)
	}
	for _, other := range []string{`{tools:["x"],title:"A"}`, `{tools:["x","y"],title:"B"}`, `{tools:["x","y"],title:"A",severity:"info"}`, `{tools:["x","y"],title:"A",allowedDecisions:["allow-always"]}`} {
		if n := names(other); n[0] == first[0] {
			t.Errorf("%s has the name of %s", other, a)
		}
	}
	if n := names(`{name:"mine",tools:["x"]}`); n[0] != "mine" {
		t.Errorf("%q", n)
	}
}
