package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/namespaces"
)

// deskTools are tools of an owner that has a namespace over two of them.
func deskTools() ([]catalog.Tool, []namespaces.Registration) {
	var tools []catalog.Tool
	for _, name := range []string{"open_ticket", "close_ticket"} {
		t := echo(name)
		t.Owner = "desk"
		tools = append(tools, t)
	}
	return append(tools, echo("exec"), echo("echo")), []namespaces.Registration{{
		ID: "desk", PluginID: "desk", GlobalName: "Desk", Description: "Tickets of the secret desk.",
		RequiredTools: []string{"open_ticket", "close_ticket"},
		CreateScope: func(context.Context, namespaces.RunContext) (any, error) {
			return namespaces.Serialize(map[string]any{"open": namespaces.Call{Tool: "open_ticket"}}, namespaces.Limits{})
		},
	}}
}

// everyLook is a program that looks for a tool in every way there is.
const everyLook = `
const wanted = "close_ticket", id = "quoin:desk:close_ticket";
const said = async (f) => { try { return await f() } catch (e) { return e.code + " " + e.message } };
return {
  all: ALL_TOOLS.filter(t => t.owner === wanted || t.id === id).length,
  listed: ALL_TOOLS.length,
  functions: Object.keys(tools).includes(wanted),
  search: (await tools.search(wanted)).filter(t => t.id === id).length,
  every: (await tools.search("", {limit: 50})).length,
  describe: await said(() => tools.describe(id)),
  byID: await said(() => tools.call(id, {})),
  byName: await said(() => tools.call(wanted, {})),
  near: await said(() => tools.call("closeticket", {})),
  global: typeof Desk,
  namespaces: Object.keys(namespaces),
}`

type looked struct {
	All, Listed, Search, Every           int
	Functions                            bool
	Describe, ByID, ByName, Near, Global string
	Namespaces                           []string
}

func look(t *testing.T, r *host.Result) looked {
	t.Helper()
	var l looked
	if r.Status != host.StatusCompleted {
		t.Fatalf("got %s", show(r))
	}
	if err := json.Unmarshal(r.Value, &l); err != nil {
		t.Fatalf("%v in %s", err, r.Value)
	}
	return l
}

// TestDeniedToolsDoNotExist: in no list, by no id, in no suggestion or count. What
// is said of a denied tool is, to the letter, what is said of one that never was.
func TestDeniedToolsDoNotExist(t *testing.T) {
	t.Parallel()
	tools, regs := deskTools()
	h := start(t, host.Config{Tools: tools, Namespaces: regs, Rules: policy.Scopes{Rules: policy.Rules{Deny: []string{"quoin:desk:close_*"}}}})
	without := start(t, host.Config{Tools: slices.DeleteFunc(slices.Clone(tools), func(t catalog.Tool) bool { return t.Name == "close_ticket" })})
	r := exec(h, everyLook)
	l := look(t, r)
	if want := look(t, exec(without, everyLook)); fmt.Sprint(l) != fmt.Sprint(want) {
		t.Errorf("denied:\n%+v\nnever there:\n%+v", l, want)
	}
	if l.All != 0 || l.Search != 0 || l.Functions || l.Listed != 3 || l.Every != 3 || l.Global != "undefined" || len(l.Namespaces) != 0 {
		t.Errorf("a denied tool shows: %+v", l)
	}
	for _, said := range []string{l.Describe, l.ByID, l.ByName, l.Near} {
		if !strings.HasPrefix(said, "unknown_tool ") || strings.Contains(said, "quoin:desk:close_ticket.") == (said != l.Describe && said != l.ByID) {
			t.Errorf("said of a denied tool: %s", said)
		}
	}
	if r.Telemetry.CatalogSize != 3 || r.Telemetry.Sources["quoin"] != 3 {
		t.Errorf("a denied tool is counted: %+v", r.Telemetry)
	}
	if got := fmt.Sprint(h.Catalog(host.Session{}).Tools(), h.Catalog(host.Session{}).Namespaces()); strings.Contains(got, "close_ticket") || strings.Contains(got, "Desk") {
		t.Errorf("the host lists a denied tool or its namespace: %s", got)
	}
}

// TestRulesPerSession: what one agent, session or run may do says nothing of
// others.
func TestRulesPerSession(t *testing.T) {
	t.Parallel()
	tools, regs := deskTools()
	h := start(t, host.Config{Tools: tools, Namespaces: regs, Rules: policy.Scopes{
		Rules:    policy.Rules{Deny: []string{"exec"}},
		Agents:   map[string]policy.Rules{"scout": {Allow: []string{"owner:desk"}}},
		Sessions: map[string]policy.Rules{"guest": {Deny: []string{"open_*"}}},
	}})
	for _, tc := range []struct {
		s     host.Session
		rules policy.Rules
		want  string
	}{
		{s: host.Session{}, want: `["quoin:core:echo","quoin:desk:close_ticket","quoin:desk:open_ticket","Desk"]`},
		{s: host.Session{AgentID: "scout"}, want: `["quoin:desk:close_ticket","quoin:desk:open_ticket","Desk"]`},
		{s: host.Session{SessionKey: "guest"}, want: `["quoin:core:echo","quoin:desk:close_ticket"]`},
		{s: host.Session{AgentID: "scout", SessionKey: "guest"}, want: `["quoin:desk:close_ticket"]`},
		{s: host.Session{AgentID: "scout"}, rules: policy.Rules{Deny: []string{"*:*:open_ticket"}}, want: `["quoin:desk:close_ticket"]`},
		{s: host.Session{AgentID: "scout"}, rules: policy.Rules{Allow: []string{"*"}}, want: `["quoin:desk:close_ticket","quoin:desk:open_ticket","Desk"]`},
		{s: host.Session{}, rules: policy.Rules{Allow: []string{"exec"}}, want: `[]`},
	} {
		r := h.Exec(context.Background(), tc.s, host.ExecInput{Code: `return [...ALL_TOOLS.map(t => t.id), ...Object.keys(namespaces)]`, Rules: tc.rules})
		wantValue(t, r, tc.want)
		if tc.rules.Empty() {
			if n := len(h.Catalog(tc.s).Tools()) + len(h.Catalog(tc.s).Namespaces()); n != strings.Count(tc.want, ",")+1 {
				t.Errorf("%+v: the host lists %d tools and namespaces", tc.s, n)
			}
		}
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	_, err := host.New(context.Background(), host.Config{Rules: policy.Scopes{Agents: map[string]policy.Rules{"scout": {Deny: []string{"mcp:github"}}}}})
	var bad *policy.PatternError
	if !errors.As(err, &bad) || bad.Field != `agents["scout"].deny[0]` {
		t.Errorf("got %v, want the pattern named", err)
	}
	h := start(t, host.Config{})
	r := h.Exec(context.Background(), me, host.ExecInput{Code: `return 1`, Rules: policy.Rules{Allow: []string{"plugin:x"}}})
	wantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput)
	if !strings.Contains(r.Error, `allow[0] is "plugin:x"`) {
		t.Errorf("error %q does not name the pattern", r.Error)
	}
}

// TestRulesNarrowClientTools: the rules hold for what the caller brings too.
func TestRulesNarrowClientTools(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}, Rules: policy.Scopes{Rules: policy.Rules{Deny: []string{"client:*:format_disk"}}}})
	r := execWith(h, `return [ALL_TOOLS.map(t => t.name), await tools.call("client:client:format_disk", {}).catch(e => e.code)]`, picker("format_disk"), picker("pick"))
	wantValue(t, r, `[["echo","pick"],"unknown_tool"]`)
}

// TestRunsAreIsolated: many runs at once, each with rules and tools of its own,
// and each sees its own alone.
func TestRunsAreIsolated(t *testing.T) {
	t.Parallel()
	var tools []catalog.Tool
	sessions := map[string]policy.Rules{}
	for i := range 8 {
		tools = append(tools, echo(fmt.Sprintf("tool_%d", i)))
		sessions[fmt.Sprintf("session-%d", i)] = policy.Rules{Allow: []string{fmt.Sprintf("tool_%d", i), "source:client"}}
	}
	h := start(t, host.Config{Tools: tools, Rules: policy.Scopes{Sessions: sessions}})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for round := range 4 {
				mine := catalog.Tool{Name: fmt.Sprintf("mine_%d", i), Description: "Mine.", Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
					return json.RawMessage(fmt.Sprintf(`"%d of %s in round %d"`, i, c.Session.SessionKey, round)), nil
				}}
				s := host.Session{SessionKey: fmt.Sprintf("session-%d", i)}
				r := h.Exec(context.Background(), s, host.ExecInput{Tools: []catalog.Tool{mine}, Code: fmt.Sprintf(`
const others = [];
for (let n = 0; n < 8; n++) if (n !== %d) others.push(tools["mine_" + n], tools["tool_" + n], await tools.call("tool_" + n, {}).then(() => "reached", e => e.code));
return [ALL_TOOLS.map(t => t.name), [...new Set(others)], await tools.mine_%d()]`, i, i)})
				want := fmt.Sprintf(`[["tool_%d","mine_%d"],[null,"unknown_tool"],"%d of session-%d in round %d"]`, i, i, i, i, round)
				if string(r.Value) != want {
					t.Errorf("got %s\nwant %s", show(r), want)
				}
			}
		})
	}
	wg.Wait()
}

// TestShellExecIsATool: a shell that is called exec is a tool like any other; the
// exec and wait of code mode, and the tools of discovery, are not tools.
func TestShellExecIsATool(t *testing.T) {
	t.Parallel()
	shell := catalog.Tool{Name: "exec", Description: "Runs a shell command.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`"a shell"`), nil
	}}
	tools := []catalog.Tool{shell}
	for _, name := range []string{"tool_search_code", "tool_search", "tool_describe", "tool_call"} {
		tools = append(tools, echo(name))
	}
	h := start(t, host.Config{Tools: tools})
	wantValue(t, exec(h, `
const code = (id) => tools.call(id, {}).then(() => "called", e => e.code);
return [ALL_TOOLS.map(t => t.id), await tools.call("quoin:core:exec", {}), await tools.exec({}), await code("wait"), await code("quoin:core:wait"),
  await code("tool_search"), await code("quoin:core:tool_call"), (await tools.search("tool_describe")).map(t => t.id), typeof tools.wait]`),
		`[["quoin:core:exec"],"a shell","a shell","unknown_tool","unknown_tool","unknown_tool","unknown_tool",[],"undefined"]`)
	bare := start(t, host.Config{})
	wantValue(t, exec(bare, `return [await tools.call("exec", {code: "return 1"}).catch(e => e.code), typeof tools.exec]`), `["unknown_tool","undefined"]`)
}

// TestAnEmptyAllowListLeavesNothing, wherever it is given, also after another host
// has taken the run over.
func TestAnEmptyAllowListLeavesNothing(t *testing.T) {
	t.Parallel()
	none := policy.Rules{Allow: []string{}}
	for _, tc := range []struct {
		name  string
		rules policy.Scopes
		in    policy.Rules
		want  string
	}{
		{"of the host", policy.Scopes{Rules: none}, policy.Rules{}, "0"},
		{"of the agent", policy.Scopes{Agents: map[string]policy.Rules{me.AgentID: none}}, policy.Rules{}, "0"},
		{"of the session", policy.Scopes{Sessions: map[string]policy.Rules{me.SessionKey: none}}, policy.Rules{}, "0"},
		{"of the run", policy.Scopes{}, none, "0"},
		{"absent", policy.Scopes{}, policy.Rules{Deny: []string{}}, "2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store := &runstore.Memory{}
			cfg := host.Config{Tools: []catalog.Tool{echo("echo")}, Rules: tc.rules, Store: store}
			first, err := newHost(cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := first.Exec(context.Background(), me, host.ExecInput{Code: `const before = ALL_TOOLS.length; await yield_control(); return before + (await tools.search("")).length`, Rules: tc.in})
			id := wantWaiting(t, r, codemode.ReasonYield)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			wantValue(t, start(t, cfg).Wait(context.Background(), me, id), tc.want)
		})
	}
}
