package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/examples/gateway/scripted"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
)

// planStep is one program of the model, and what its result has to be.
type planStep struct {
	name, program string
	// want is the value of a completed run, as JSON; or a word of the error of a failed one.
	want, fails string
}

// planSteps are steps 7 to 11 of the end-to-end plan: what a program finds and reaches.
var planSteps = []planStep{
	{"7: ALL_TOOLS has the effective tools", `const ids = ALL_TOOLS.map((t) => t.id);
return ["quoin:core:on_call", "quoin:core:slow", "quoin:issues:issues_list", "client:client:select_file"].filter((id) => !ids.includes(id));`, `[]`, ""},
	{"8: a tool of the gateway", found("who is on call", "quoin:core:on_call", `{ area: "data" }`), `{"name":"Grace"}`, ""},
	{"8: a tool of a plugin", found("issues_list", "quoin:issues:issues_list", `{ limit: 1 }`), ``, ""},
	{"8: a tool of the client", found("select_file", "client:client:select_file", `{ n: 2 }`), `{"n":2}`, ""},
	{"9: the declarations describe the MCP tools", `const { content } = await API.read("mcp/weather.d.ts"); return [(await API.list("mcp")).files.length > 0, content.includes("town: string")];`, `[true,true]`, ""},
	{"10: MCP tools are called through MCP", `return (await MCP.weather.forecast({ town: "Oslo" })).structuredContent;`, `{"degrees":4}`, ""},
	{"10: and have no direct entries", `return [ALL_TOOLS.some((t) => t.source === "mcp"), "forecast" in tools];`, `[false,false]`, ""},
	{"11: a denied tool is absent by every name", `const out = [ALL_TOOLS.some((t) => t.name === "secret"), "secret" in tools];
for (const id of ["secret", "quoin:core:secret"]) try { await tools.call(id, {}); out.push("called"); } catch (e) { out.push(e.code); }
return out;`, `[false,false,"unknown_tool","unknown_tool"]`, ""},
	{"15: a program that never ends is stopped", `for (;;);`, "", "time"},
}

// found is a program that looks a tool up before it calls it by its id.
func found(query, id, input string) string {
	return fmt.Sprintf(`const hits = await tools.search(%q);
const hit = hits.find((h) => h.id === %q);
if (!hit || typeof (await tools.describe(hit.id)).parameters !== "object") throw new Error("not found: " + JSON.stringify(hits));
return await tools.call(hit.id, %s);`, query, id, input)
}

// run is the model's turn that runs the program of a step, once it has checked the result
// of the one before.
func (s planStep) run(before *planStep) scripted.Turn {
	return func(c scripted.Conversation) (scripted.Reply, error) {
		if before != nil {
			if err := before.check(c.Last()); err != nil {
				return scripted.Reply{}, err
			}
		}
		return execCall(s.program)
	}
}

func (s planStep) check(results []scripted.Result) error {
	r, err := onlyResult(results)
	if err != nil {
		return fmt.Errorf("step %s: %w", s.name, err)
	}
	switch {
	case s.fails != "":
		if r.Status != host.StatusFailed || !strings.Contains(r.Error, s.fails) {
			return fmt.Errorf("step %s: got %s, expected an error about %s", s.name, results[0].Content, s.fails)
		}
	case r.Status != host.StatusCompleted || s.want != "" && string(r.Value) != s.want:
		return fmt.Errorf("step %s: got %s, expected %s", s.name, results[0].Content, s.want)
	}
	return nil
}

// result is what a model is shown.
type result struct {
	Status  codemode.Status `json:"status"`
	Value   json.RawMessage `json:"value"`
	RunID   string          `json:"runId"`
	Pending []string        `json:"pending"`
	Output  []string        `json:"output"`
	Error   string          `json:"error"`
}

func onlyResult(results []scripted.Result) (r result, _ error) {
	if len(results) != 1 {
		return r, fmt.Errorf("%d results, expected one", len(results))
	}
	return r, json.Unmarshal([]byte(results[0].Content), &r)
}

func execCall(program string) (scripted.Reply, error) {
	b, err := json.Marshal(map[string]string{"code": program})
	return scripted.Reply{Calls: []scripted.Call{{Name: modeltools.Exec, Arguments: string(b)}}}, err
}

func waitCall(runID string) scripted.Reply {
	return scripted.Reply{Calls: []scripted.Call{{Name: modeltools.Wait, Arguments: fmt.Sprintf(`{"runId":%q}`, runID)}}}
}

// plan is the gateway of the end-to-end plan: tools of its own, a plugin, an MCP server, a
// tool of the client, one that is denied, and one that takes long.
type plan struct {
	slow  chan struct{} // closed: the slow tool returns
	runID string        // of the program that waits for the slow tool
}

// reaches is the script of steps 7 to 11, and of the program that never ends.
func (p *plan) reaches() []scripted.Turn {
	var script []scripted.Turn
	var before *planStep
	for i := range planSteps {
		script = append(script, planSteps[i].run(before))
		before = &planSteps[i]
	}
	return append(script, func(c scripted.Conversation) (scripted.Reply, error) {
		return scripted.Reply{Text: "All steps passed."}, before.check(c.Last())
	})
}

// waits is the script of steps 12 to 14.
func (p *plan) waits() []scripted.Turn {
	return []scripted.Turn{programTurn(`text("before"); const v = await tools.slow({}); text("after " + v); return v;`), p.waiting, p.waited}
}

// waiting is step 12: the result says that the program waits, and has its output.
func (p *plan) waiting(c scripted.Conversation) (scripted.Reply, error) {
	r, err := onlyResult(c.Last())
	if err != nil || r.Status != host.StatusWaiting || strings.Join(r.Pending, ",") != "quoin:core:slow" || strings.Join(r.Output, ",") != "before" {
		return scripted.Reply{}, fmt.Errorf("step 12: got %+v, %v", r, err)
	}
	p.runID = r.RunID
	close(p.slow)
	return waitCall(r.RunID), nil
}

// waited is steps 13 and 14: wait delivers the value, and the output made since.
func (p *plan) waited(c scripted.Conversation) (scripted.Reply, error) {
	r, err := onlyResult(c.Last())
	if err != nil || r.Status != host.StatusCompleted || string(r.Value) != `"through"` || strings.Join(r.Output, ",") != "after through" {
		return scripted.Reply{}, fmt.Errorf("steps 13-14: got %+v, %v", r, err)
	}
	return scripted.Reply{Text: "All steps passed."}, nil
}

func (p *plan) tools() []catalog.Tool {
	echo := func(name string) catalog.Tool {
		return catalog.Tool{Name: name, Description: "Returns its input: " + name + ".", Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) { return c.Input, nil }}
	}
	client := echo("select_file")
	client.Source = catalog.SourceClient
	slow := catalog.Tool{Name: "slow", Description: "Takes its time.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		select {
		case <-p.slow:
			return json.RawMessage(`"through"`), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
	return []catalog.Tool{onCall, echo("secret"), client, slow}
}

// weather is an MCP server with one tool.
func weather(t *testing.T) mcp.Server {
	t.Helper()
	type input struct {
		Town string `json:"town"`
	}
	type output struct {
		Degrees int `json:"degrees"`
	}
	s := mcpsdk.NewServer(&mcpsdk.Implementation{Name: "weather", Version: "1"}, nil)
	mcpsdk.AddTool(s, &mcpsdk.Tool{Name: "forecast", Description: "Tells the temperature of a town."}, func(_ context.Context, _ *mcpsdk.CallToolRequest, in input) (*mcpsdk.CallToolResult, output, error) {
		return nil, output{len(in.Town)}, nil
	})
	server := httptest.NewServer(mcpsdk.NewStreamableHTTPHandler(func(*http.Request) *mcpsdk.Server { return s }, nil))
	t.Cleanup(server.Close)
	return mcp.Server{Name: "weather", URL: server.URL}
}

// TestEndToEndPlan is the plan of the contract, from the model's tools to the record of
// what it did with them, over each API on the wire. The endpoint checks every request.
func TestEndToEndPlan(t *testing.T) {
	plugins := pluginDir(t)
	for _, api := range providers {
		t.Run(string(api), func(t *testing.T) {
			t.Run("1-3", func(t *testing.T) { codeModeOff(t, api) })
			p := &plan{slow: make(chan struct{})}
			t.Run("4-11", func(t *testing.T) {
				p.goThrough(t, api, p.reaches(), host.Config{
					Settings: host.Settings{CPUBudget: 200 * time.Millisecond},
					Plugins:  host.PluginConfig{Dir: plugins},
					MCP:      host.MCPConfig{Servers: []mcp.Server{weather(t)}, Wait: time.Minute},
					Rules:    policy.Scopes{Rules: policy.Rules{Deny: []string{"secret"}}},
				})
			})
			t.Run("12-16", func(t *testing.T) {
				g := p.goThrough(t, api, p.waits(), host.Config{Settings: host.Settings{Wait: time.Second}})
				leavesNothing(t, g)
				hasNested(t, g, p.runID)
			})
		})
	}
}

// goThrough holds one conversation of the plan.
func (p *plan) goThrough(t *testing.T, api modeltools.Provider, script []scripted.Turn, cfg host.Config) *gateway {
	t.Helper()
	e := &scripted.Endpoint{Script: script}
	g := start(t, options{provider: api, baseURL: endpoint(t, e)(api), tools: p.tools(), host: cfg})
	if h, err := converse(t, g, fresh(t, g), "Go through the plan."); err != nil || h.text != "All steps passed." {
		t.Fatalf("it said %q, %v; results %v", h.text, err, h.results)
	}
	return g
}

// codeModeOff is steps 1 to 3: the model gets the tools of the request as they are, and
// calls them itself.
func codeModeOff(t *testing.T, api modeltools.Provider) {
	e := &scripted.Endpoint{Tools: []string{onCall.Name}, Script: []scripted.Turn{
		func(scripted.Conversation) (scripted.Reply, error) {
			return scripted.Reply{Calls: []scripted.Call{{Name: onCall.Name, Arguments: `{"area":"data"}`}, {Name: "exec", Arguments: `{}`}}}, nil
		},
		func(c scripted.Conversation) (scripted.Reply, error) {
			r := c.Last()
			if len(r) != 2 || r[0].Content != `{"name":"Grace"}` || !strings.Contains(r[1].Content, `there is no tool \"exec\"`) {
				return scripted.Reply{}, fmt.Errorf("got %q", r)
			}
			return scripted.Reply{Text: "Grace."}, nil
		},
	}}
	g := start(t, options{provider: api, baseURL: endpoint(t, e)(api), host: host.Config{Settings: host.Settings{Disabled: true}}})
	if h, err := converse(t, g, fresh(t, g), "Who is on call?"); err != nil || h.text != "Grace." {
		t.Errorf("it said %q, %v", h.text, err)
	}
}

// leavesNothing is the rest of step 15: what a conversation that is deleted has run ends.
func leavesNothing(t *testing.T, g *gateway) {
	c := fresh(t, g)
	turn, err := g.modelTools(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	r := turn.Exec(t.Context(), host.ExecInput{Code: `await yield_control();`})
	if r.Status != host.StatusWaiting {
		t.Fatal(r.Status, r.Error)
	}
	if err := g.forget(t.Context(), c.ID); err != nil {
		t.Error(err)
	}
	if left, err := g.host.Runs().All(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%d runs are left, %v", len(left), err)
	}
	if r := turn.Wait(t.Context(), r.RunID); r.Reason != codemode.ReasonRunUnavailable {
		t.Errorf("the run ended with %s", r.Error)
	}
	if _, err := g.conversations.load(c.ID); err != errUnknown {
		t.Errorf("the conversation is there: %v", err)
	}
}

// hasNested is step 16: the record has the nested call below the exec that started it,
// under the id of the model's call.
func hasNested(t *testing.T, g *gateway, runID string) {
	run, err := g.trajectories.Find(runID)
	if err != nil {
		t.Fatal(err)
	}
	segments := run.Segments()
	if len(segments) != 2 || len(segments[0].Calls) != 1 || segments[0].Calls[0].ToolID != "quoin:core:slow" || !strings.HasPrefix(segments[0].Calls[0].ParentCallID, "call_") {
		t.Errorf("segments %+v", segments)
	}
	for _, shape := range []trajectory.Shape{trajectory.ShapeOpenAI, trajectory.ShapeAnthropic} {
		if messages, err := run.Transcript(shape); err != nil || len(messages) == 0 {
			t.Errorf("%s: %v", shape, err)
		}
	}
}
