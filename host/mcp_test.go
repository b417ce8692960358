package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/internal/typescript"
)

// mcpServerKey makes the test binary an MCP server with the label that is its value.
const mcpServerKey = "QUOIN_TEST_MCP_SERVER"

// upstream is an MCP server for programs to use.
func upstream(label string) *sdk.Server {
	if strings.HasPrefix(label, "asker") {
		return askingUpstream(label)
	}
	s := sdk.NewServer(&sdk.Implementation{Name: label, Version: "1"}, nil)
	add := func(name, schema string, f func(ctx context.Context, in map[string]any) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(schema)},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var in map[string]any
				if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
					return nil, err
				}
				return f(ctx, in)
			})
	}
	echo := func(_ context.Context, in map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"label": label, "in": in}}, nil
	}
	add("create-issue", `{"type":"object","properties":{"owner":{"type":"string"},"title":{"type":"string","description":"What it is about."},
		"labels":{"type":"array","items":{"type":"string"},"default":["new"]},"n":{"type":"integer","default":3}},"required":["owner","title","labels"]}`, echo)
	add("create_issue", `{"type":"object"}`, echo)
	add("delete", `{"type":"object"}`, echo)
	add("then", `{"type":"object"}`, echo)
	add("resources", `{"type":"object"}`, echo)
	add("fail", `{"type":"object"}`, func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "it failed"}}}, nil
	})
	add("refuse", `{"type":"object"}`, func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		return nil, errors.New("refused")
	})
	add("crash", `{"type":"object"}`, func(context.Context, map[string]any) (*sdk.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	// wait writes its process into a file and waits until another file is there.
	add("wait", `{"type":"object"}`, func(ctx context.Context, in map[string]any) (*sdk.CallToolResult, error) {
		dir := in["dir"].(string)
		note := func(word string) error { return os.WriteFile(filepath.Join(dir, word), nil, 0o600) }
		if err := note("running"); err != nil {
			return nil, err
		}
		if err := hosttest.AwaitFile(ctx, filepath.Join(dir, "go"), ""); ctx.Err() == nil && err != nil {
			return nil, err
		}
		if ctx.Err() == nil {
			return echo(ctx, in)
		}
		return nil, note("cancelled")
	})
	add("grow", `{"type":"object"}`, func(ctx context.Context, in map[string]any) (*sdk.CallToolResult, error) {
		add("grown", `{"type":"object"}`, echo)
		return echo(ctx, in)
	})
	s.AddResource(&sdk.Resource{URI: "memo://one", Name: "one"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "memo://one", Text: "the memo"}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "brief"}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "On " + r.Params.Arguments["topic"]}}}}, nil
	})
	return s
}

// program is an MCP server that runs the test binary.
func program(t testing.TB, name string) mcp.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: name, Command: exe, Env: map[string]string{mcpServerKey: name}}
}

// network is an MCP server over HTTP.
func network(t testing.TB, name string) mcp.Server {
	t.Helper()
	s := upstream(name)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		for session := range s.Sessions() {
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return mcp.Server{Name: name, URL: web.URL}
}

func withMCP(t testing.TB, cfg host.Config, servers ...mcp.Server) *host.Host {
	t.Helper()
	cfg.MCP.Servers = servers
	cfg.MCP.Wait = time.Minute
	return start(t, cfg)
}

func TestMCPCalls(t *testing.T) {
	t.Parallel()
	h := withMCP(t, host.Config{}, program(t, "git-hub"), network(t, "net"))
	for _, c := range []struct{ code, want string }{
		{`return [Object.keys(MCP), MCP.gitHub.$serverName, MCP.net.$serverName]`, `[["gitHub","net"],"git-hub","net"]`},
		// The names that servers give work, too, and are not listed.
		{`return [MCP["git-hub"] === MCP.gitHub, MCP.gitHub["create-issue"] === MCP.gitHub.createIssue, (await MCP.gitHub["create-issue"]({ owner: "me", title: "x" })).structuredContent.label]`, `[true,true,"git-hub"]`},
		{`return [await Promise.resolve(MCP.gitHub) === MCP.gitHub, MCP.gitHub.then, "git-hub" in MCP]`, `[true,null,true]`},
		// Tools in the order of their ids; operations are objects.
		{`return Object.keys(MCP.gitHub)`, `["crash","createIssue","createIssue2","delete2","fail","grow","refuse","resources2","then2","wait","prompts","resources"]`},
		{`return (await MCP.gitHub.createIssue({ owner: "me", title: "x", labels: [] })).structuredContent`, `{"in":{"labels":[],"n":3,"owner":"me","title":"x"},"label":"git-hub"}`},
		// Defaults fill in, also for required names.
		{`return (await MCP.net.createIssue({ owner: "me", title: "x" })).structuredContent`, `{"in":{"labels":["new"],"n":3,"owner":"me","title":"x"},"label":"net"}`},
		{`return (await MCP.gitHub.createIssue2()).structuredContent`, `{"in":{},"label":"git-hub"}`},
		{`return (await MCP.gitHub.delete2(undefined)).structuredContent.label`, `"git-hub"`},
		{`try { await MCP.gitHub.createIssue({}) } catch (e) { return [e.message, e.code, e.toolId] }`,
			`["Missing required MCP namespace argument(s): owner, title. Expected { owner: string, title: string, labels: string[], n?: integer }.","invalid_input","mcp:git-hub:create-issue"]`},
		{`try { await MCP.gitHub.createIssue("x") } catch (e) { return [e.message, e.code] }`, `["MCP namespace tools accept one object argument.","invalid_input"]`},
		{`try { await MCP.gitHub.createIssue({ owner: 1, title: "x" }) } catch (e) { return [e.code, e.message.includes("owner")] }`, `["invalid_input",true]`},
		// isError resolves.
		{`return await MCP.gitHub.fail({})`, `{"content":[{"type":"text","text":"it failed"}],"isError":true}`},
		{`try { await MCP.gitHub.refuse({}) } catch (e) { return [e.code, e.toolId, e.message.includes("refused"), e.effectStatus ?? null] }`, `["mcp_error","mcp:git-hub:refuse",true,null]`},
		{`return (await MCP.gitHub.resources.list()).resources.map((r) => r.uri)`, `["memo://one"]`},
		{`return (await MCP.net.resources.read({ uri: "memo://one" })).contents[0].text`, `"the memo"`},
		{`return (await MCP.gitHub.prompts.list({})).prompts[0].name`, `"brief"`},
		{`return (await MCP.gitHub.prompts.get({ name: "brief", arguments: { topic: "bees" } })).messages[0].content.text`, `"On bees"`},
		{`try { await MCP.gitHub.resources.read({}) } catch (e) { return e.message }`, `"Missing required MCP namespace argument(s): uri. Expected { uri: string }."`},
		{`return (await Promise.all([MCP.gitHub.delete2({ a: 1 }), MCP.net.delete2({ a: 2 })])).map((r) => r.structuredContent.in.a)`, `[1,2]`},
	} {
		res := exec(h, c.code)
		if res.Status != host.StatusCompleted || !sameResult(string(res.Value), c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.code, show(res), c.want)
		}
	}
}

// sameResult compares values; what newer protocols add to a result does not count.
func sameResult(got, want string) bool {
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	if m, ok := a.(map[string]any); ok {
		delete(m, "resultType")
		delete(m, "_meta")
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// TestMCPToolsAreFound: a search names them, with the call and its input; called they
// are as before, through MCP.
func TestMCPToolsAreFound(t *testing.T) {
	t.Parallel()
	h := withMCP(t, host.Config{Tools: []catalog.Tool{echo("echo")}}, program(t, "git-hub"))
	wantValue(t, exec(h, `
		const [found] = await tools.search("create-issue");
		const read = (await tools.search("resources_read"))[0];
		return [found.id, found.source, found.call, read.call, (await tools.search("echo"))[0].call ?? null]`),
		`["mcp:git-hub:create-issue","mcp","MCP.gitHub.createIssue({ owner: string, title: string, labels: string[], n?: integer })","MCP.gitHub.resources.read({ uri: string })",null]`)
	calls := map[string]string{}
	for _, e := range h.Catalog(host.Session{}).Tools() {
		calls[e.ID] = e.Call
	}
	if calls["mcp:git-hub:create-issue"] != "MCP.gitHub.createIssue" || calls["quoin:core:echo"] != "tools.echo" {
		t.Errorf("calls %q", calls)
	}
}

// TestMCPStaysOutOfTools: in the catalog for policy and audit, and in what a search
// finds, but not among what tools can call.
func TestMCPStaysOutOfTools(t *testing.T) {
	t.Parallel()
	h := withMCP(t, host.Config{Tools: []catalog.Tool{echo("echo")}}, program(t, "up"))
	ids := []string{}
	for _, e := range h.Catalog(host.Session{}).Tools() {
		ids = append(ids, e.ID)
	}
	for _, id := range []string{"mcp:up:create-issue", "mcp:up:resources_list", "mcp:up:prompts_get"} {
		if !slices.Contains(ids, id) {
			t.Errorf("the catalog lacks %s: %q", id, ids)
		}
	}
	wantValue(t, exec(h, `
		const seen = [ALL_TOOLS.map((t) => t.id), Object.keys(tools).includes("fail"), (await tools.search("issue")).every((t) => t.call.startsWith("MCP.up."))]
		for (const id of ["mcp:up:fail", "fail"]) {
			try { await tools.call(id) } catch (e) { seen.push(e.code) }
			try { await tools.describe(id) } catch (e) { seen.push(e.code) }
		}
		return seen`), `[["quoin:core:echo"],false,true,"not_callable","not_callable","unknown_tool","unknown_tool"]`)
	res := exec(h, `await MCP.up.fail(); return 1`)
	if res.Telemetry.Sources["mcp"] != len(ids)-1 || res.Telemetry.NamespaceCount != 1 || res.Telemetry.CallCount != 0 {
		t.Errorf("telemetry %+v", res.Telemetry)
	}
}

func TestMCPIsAlwaysThere(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	wantValue(t, exec(h, `return [Object.keys(MCP), Object.isFrozen(MCP), Object.getPrototypeOf(MCP)]`), `[[],true,null]`)
}

// TestMCPRules: a denied tool does not exist, also by a guessed name.
func TestMCPRules(t *testing.T) {
	t.Parallel()
	h := withMCP(t, host.Config{Rules: policy.Scopes{Rules: policy.Rules{Deny: []string{"mcp:up:fail", "mcp:up:resources_*", "owner:hidden"}}}}, program(t, "up"), program(t, "hidden"))
	wantValue(t, exec(h, `return [Object.keys(MCP), "fail" in MCP.up, "resources" in MCP.up, typeof MCP.up.prompts.get, (await MCP.up.$api("fail")).tools.length]`),
		`[["up"],false,false,"function",0]`)
}

func TestMCPDeclarations(t *testing.T) {
	t.Parallel()
	h := withMCP(t, host.Config{}, program(t, "git-hub"), network(t, "net"))
	all, index := h.Files(me)
	files := map[string]string{}
	for path, text := range all {
		if strings.HasPrefix(path, "mcp/") {
			files[path] = text
			if !strings.Contains(index, path) {
				t.Errorf("%s is not listed", path)
			}
		}
	}
	wantValue(t, exec(h, `return [(await API.list("mcp")).files.map((f) => f.path), (await API.read("mcp/net.d.ts")).content.length > 0]`),
		`[["mcp/gitHub.d.ts","mcp/index.d.ts","mcp/net.d.ts"],true]`)
	res := exec(h, `return [(await MCP.gitHub.$api()).header, (await MCP.gitHub.$api("create-issue")).header]`)
	var headers []string
	if res.Status != host.StatusCompleted || json.Unmarshal(res.Value, &headers) != nil {
		t.Fatal(show(res))
	}
	if headers[0] != files["mcp/gitHub.d.ts"] {
		t.Errorf("the header of the server is not its file:\n%s", headers[0])
	}
	files["one"] = headers[1]
	for path, wants := range map[string][]string{
		"mcp/index.d.ts": {"MCP.gitHub: 10 tools, resources, prompts", `server "git-hub"`},
		"mcp/gitHub.d.ts": {"readonly gitHub: {", " createIssue(input: {", "title: string", "labels", " delete2(", "readonly resources: {",
			"At the server: create-issue", "What it is about."},
		"mcp/net.d.ts": {"readonly net: {"},
		"one":          {" createIssue(input: {"},
	} {
		for _, want := range wants {
			if !strings.Contains(files[path], want) {
				t.Errorf("%s lacks %q:\n%s", path, want, files[path])
			}
		}
	}
	one := files["one"]
	delete(files, "one")
	files["use.ts"] = `async function use() {
		const r = await MCP.gitHub.createIssue({ owner: "a", title: "b", labels: [] });
		const text: string | undefined = r.content?.[0]?.text;
		return [text, (await MCP.net.resources.read({ uri: "x" })).contents[0]!.uri, MCP.net.$serverName];
	}`
	for path, text := range files {
		if strings.HasSuffix(path, ".d.ts") {
			typescript.Check(t, map[string]string{path: text})
		}
	}
	files["guest.d.ts"] = hosttest.GuestDeclarations(t)
	typescript.Check(t, files)
	typescript.Check(t, map[string]string{"one.d.ts": one})
}

func TestMCPAPI(t *testing.T) {
	t.Parallel()
	h := withMCP(t, host.Config{}, program(t, "git-hub"))
	res := exec(h, `
		const all = await MCP.gitHub.$api()
		const one = await MCP.gitHub.$api("createIssue", { schema: true })
		return [all.scope, all.server, all.tools.length, one.scope, one.tools[0].mcpTool, one.schemas.createIssue.input.required, (await MCP.gitHub.$api("resources.read")).tools[0].operation]`)
	wantValue(t, res, `["server",{"identifier":"gitHub","serverName":"git-hub","toolCount":14},14,"tool","create-issue",["owner","title","labels"],"resources_read"]`)
	if res.Telemetry.NamespaceCount+res.Telemetry.CallCount != 0 || res.Dispatched {
		t.Errorf("$api made a bridge call: %+v", res.Telemetry)
	}
}

// TestMCPEvents: calls appear in the trajectory like any other.
func TestMCPEvents(t *testing.T) {
	t.Parallel()
	events := make(chan trajectory.Event, 100)
	h := withMCP(t, host.Config{Trajectory: host.TrajectoryConfig{OnEvent: func(e trajectory.Event) { events <- e }}}, program(t, "up"))
	exec(h, `await MCP.up.createIssue2({ a: 1 })`)
	e := <-events
	if e.ToolID != "mcp:up:create_issue" || e.Owner != "up" || e.Via != "MCP.up.createIssue2" || e.Outcome != trajectory.OutcomeOK {
		t.Errorf("%+v", e)
	}
}

// waitFor waits until a process has made a file.
func waitFor(t *testing.T, dir, name string) {
	t.Helper()
	if err := hosttest.AwaitFile(t.Context(), filepath.Join(dir, name), ""); err != nil {
		t.Fatal(err)
	}
}

// TestMCPAcrossWait: a call continues while its run is suspended, and its answer reaches the
// restored program.
func TestMCPAcrossWait(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	h := withMCP(t, host.Config{}, program(t, "up"))
	res := h.Exec(context.Background(), me, host.ExecInput{Code: fmt.Sprintf(`
		const server = MCP.up
		const r = await server.wait({ dir: %q })
		const again = await server.createIssue2({ b: 2 })
		return [r.structuredContent.label, again.structuredContent.in.b]`, dir), Wait: soon})
	id := wantWaiting(t, res, codemode.ReasonPendingTools)
	if len(res.PendingToolCalls) != 1 || res.PendingToolCalls[0].Tool != "mcp:up:wait" {
		t.Errorf("pending %+v", res.PendingToolCalls)
	}
	waitFor(t, dir, "running")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for res = h.Wait(context.Background(), me, id); res.Status == host.StatusWaiting; {
		res = h.Wait(context.Background(), me, id)
	}
	wantValue(t, res, `["up",2]`)
}

// TestMCPAfterRestart: a program that holds a server's functions means the same
// tools in the next host, and an answer that is lost says so.
func TestMCPAfterRestart(t *testing.T) {
	t.Parallel()
	dir, records := mkdir(t), mkdir(t)
	open := func() *host.Host {
		store := openState(t, records)
		guest, err := hosttest.Guest()
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.New(context.Background(), host.Config{Store: store, MCP: host.MCPConfig{Servers: []mcp.Server{program(t, "up")}, Wait: time.Minute},
			Guests: host.GuestConfig{Path: guest}, DrainTimeout: time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := open()
	res := first.Exec(context.Background(), me, host.ExecInput{Code: fmt.Sprintf(`
		const create = MCP.up.createIssue2
		try { await MCP.up.wait({ dir: %q }) } catch (e) { return [e.code, e.effectStatus, (await create({ c: 3 })).structuredContent.in.c] }`, dir), Wait: soon})
	id := wantWaiting(t, res, codemode.ReasonPendingTools)
	waitFor(t, dir, "running")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open()
	defer func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}()
	wantValue(t, second.Wait(context.Background(), me, id), `["interrupted","unknown",3]`)
}

// TestMCPServerCrash: the call in flight rejects, and the next run finds the server
// again.
func TestMCPServerCrash(t *testing.T) {
	t.Parallel()
	h := withMCP(t, host.Config{}, program(t, "up"))
	wantValue(t, exec(h, `try { await MCP.up.crash({}) } catch (e) { return [e.code, e.effectStatus, e.toolId] }`), `["mcp_closed","unknown","mcp:up:crash"]`)
	ask(t, h, `return (await MCP.up.delete2({})).structuredContent.label`, func(r *host.Result) bool { return r.Status == host.StatusCompleted })
	if st := h.MCPStatus(); len(st) != 1 || st[0].State != mcp.StateConnected {
		t.Errorf("status %+v", st)
	}
}

// TestMCPAbort: the server is told when the caller of a run gives up.
func TestMCPAbort(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	h := withMCP(t, host.Config{}, program(t, "up"))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan *host.Result)
	go func() {
		done <- h.Exec(ctx, me, host.ExecInput{Code: fmt.Sprintf(`await MCP.up.wait({ dir: %q })`, dir)})
	}()
	waitFor(t, dir, "running")
	cancel()
	if res := <-done; res.Code != codemode.CodeAborted {
		t.Error(show(res))
	}
	waitFor(t, dir, "cancelled")
}

// TestMCPListChanged: the next run sees a tool that the server has announced, once it may.
func TestMCPListChanged(t *testing.T) {
	t.Parallel()
	up := program(t, "up")
	up.Pin = mcp.PinWarn
	h := withMCP(t, host.Config{}, up)
	exec(h, `await MCP.up.grow({})`)
	ask(t, h, `return typeof MCP.up.grown`, func(r *host.Result) bool { return string(r.Value) == `"function"` })
}

// ask runs a program again and again, until its result is the one that has to come.
func ask(t *testing.T, h *host.Host, program string, comes func(*host.Result) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		r := h.Exec(ctx, me, host.ExecInput{Code: program})
		if comes(r) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: after a minute it is still %s", program, show(r))
		}
	}
}

// TestMCPServerThatIsDown does not stop a host, and what two servers are called
// does not depend on which of them is there.
func TestMCPServerThatIsDown(t *testing.T) {
	t.Parallel()
	h := withMCP(t, host.Config{}, mcp.Server{Name: "git.hub", Command: "/nowhere/at/all"}, program(t, "git-hub"), program(t, "git_hub"))
	wantValue(t, exec(h, `return Object.values(MCP).map((s) => s.$serverName)`), `["git-hub","git_hub"]`)
	servers := h.Catalog(host.Session{}).MCPServers()
	if len(servers) != 2 || servers[0].Identifier != "gitHub" || servers[0].Name != "git-hub" || servers[1].Identifier != "gitHub3" || servers[1].Tools != 10 {
		t.Errorf("%+v", servers)
	}
	surface, err := h.ModelTools(context.Background(), me, nil, host.ModelToolsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`- gitHub (10, server "git-hub", resources, prompts): crash, createIssue, `, `- gitHub3 (10, server "git_hub", resources, prompts): `} {
		if text := surface.Visible[0].Description; !strings.Contains(text, want) || strings.Contains(text, "create-issue") {
			t.Errorf("the model is told:\n%s\nit lacks %s", text, want)
		}
	}
	if want := `MCP.gitHub3: 10 tools, resources, prompts (server "git_hub"). Signatures: await API.read("mcp/gitHub3.d.ts").`; servers[1].Line() != want {
		t.Errorf("got %s\nwant %s", servers[1].Line(), want)
	}
}

func TestMCPConfigIsChecked(t *testing.T) {
	t.Parallel()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	_, err = host.New(context.Background(), host.Config{Guests: host.GuestConfig{Path: guest}, MCP: host.MCPConfig{Servers: []mcp.Server{{Name: "x"}}}})
	var ce *mcp.ConfigError
	if !errors.As(err, &ce) || ce.Server != "x" {
		t.Errorf("got %v", err)
	}
}
