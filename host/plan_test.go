package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// gateway is a host with everything a gateway has: tools of its own, a plugin, an
// MCP server, a shell, a tool of the client, one that is denied, a store on disk
// and recorded trajectories.
type gateway struct {
	h     *host.Host
	turn  *host.ModelTools
	slow  *gate
	store *sqlite.DB
	told  *sqlite.Trajectory
}

func openGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{slow: newGate()}
	dir, plugins := mkdir(t), mkdir(t)
	if err := hosttest.Install(plugins, "issues"); err != nil {
		t.Fatal(err)
	}
	g.store, g.told = openState(t, dir), openTrajectory(t, dir)
	g.h = withMCP(t, host.Config{
		Plugins: host.PluginConfig{Dir: plugins},
		Rules:   policy.Scopes{Rules: policy.Rules{Deny: []string{"secret"}}},
		Store:   g.store, Trajectory: host.TrajectoryConfig{Sink: g.told},
	}, program(t, "up"))
	client := echo("select_file")
	client.Source = catalog.SourceClient
	g.turn = surface(t, g.h, []catalog.Tool{echo("read"), echo("exec"), echo("secret"), g.slow.tool("slow"), client}, host.ModelToolsOptions{})
	return g
}

// value runs a program and returns what it returned.
func (g *gateway) value(t *testing.T, code string) string {
	t.Helper()
	r := g.turn.Exec(context.Background(), host.ExecInput{Code: code})
	if r.Status != host.StatusCompleted {
		t.Fatal(show(r))
	}
	return string(r.Value)
}

func (g *gateway) want(t *testing.T, code, want string) {
	t.Helper()
	if got := g.value(t, code); got != want {
		t.Errorf("%s\ngot  %s\nwant %s", code, got, want)
	}
}

// TestEndToEndPlan is one gateway from the model's tools to the record of what it
// did with them, step by step. Each step needs those before it.
func TestEndToEndPlan(t *testing.T) {
	t.Parallel()
	tools := []catalog.Tool{echo("read"), echo("write")}
	t.Run("1-3 code mode is off and the tools are unchanged", func(t *testing.T) {
		h := start(t, host.Config{Settings: host.Settings{Disabled: true}})
		s := surface(t, h, tools, host.ModelToolsOptions{})
		if s.Active || strings.Join(s.Names(), " ") != "read write" {
			t.Errorf("shown %v", s.Names())
		}
	})
	g := openGateway(t)
	t.Run("4-6 code mode is on and the model sees exec and wait", func(t *testing.T) {
		if got := strings.Join(g.turn.Names(), " "); got != "exec wait" {
			t.Errorf("shown %s", got)
		}
		if err := g.turn.VerifyPayload([]string{"exec", "wait"}); err != nil {
			t.Error(err)
		}
		if err := g.turn.VerifyPayload([]string{"exec", "wait", "read"}); err == nil {
			t.Error("a payload with another tool passes")
		}
	})
	t.Run("7 ALL_TOOLS has the effective tools", func(t *testing.T) {
		g.want(t, `const ids = ALL_TOOLS.map(t => t.id); return ["quoin:core:read", "quoin:core:exec", "quoin:core:slow", "quoin:issues:issues_list", "client:client:select_file"].filter(id => !ids.includes(id))`, `[]`)
	})
	t.Run("8 tools of every source are found, described and called", func(t *testing.T) {
		for _, c := range []struct{ query, id, input, want string }{
			{"read", "quoin:core:read", `{"a":1}`, `{"a":1}`},
			{"issues_list", "quoin:issues:issues_list", `{"limit":1}`, ""},
			{"select_file", "client:client:select_file", `{"b":2}`, `{"b":2}`},
			{"exec", "quoin:core:exec", `{"cmd":"ls"}`, `{"cmd":"ls"}`},
		} {
			got := g.value(t, `const found = (await tools.search("`+c.query+`"))[0].id
				const described = await tools.describe(found)
				return [found, typeof described.parameters, await tools.call(found, `+c.input+`)]`)
			var out []json.RawMessage
			if err := json.Unmarshal([]byte(got), &out); err != nil {
				t.Fatal(err)
			}
			if string(out[0]) != `"`+c.id+`"` || string(out[1]) != `"object"` || c.want != "" && string(out[2]) != c.want {
				t.Errorf("%s: %s", c.query, got)
			}
		}
	})
	t.Run("9 the declarations describe the MCP tools", func(t *testing.T) {
		g.want(t, `return (await API.list("mcp")).files.map(f => f.path)`, `["mcp/index.d.ts","mcp/up.d.ts"]`)
		g.want(t, `const d = (await API.read("mcp/up.d.ts")).content; return [d.includes(" createIssue(input: {"), d.includes("title: string")]`, `[true,true]`)
	})
	t.Run("10 MCP tools are called through MCP alone", func(t *testing.T) {
		g.want(t, `const r = await MCP.up.createIssue({ owner: "me", title: "x" }); return r.structuredContent.in`, `{"labels":["new"],"n":3,"owner":"me","title":"x"}`)
		g.want(t, `return [ALL_TOOLS.some(t => t.source === "mcp"), "create_issue" in tools, "MCP" in tools]`, `[false,false,false]`)
	})
	t.Run("11 a denied tool is absent by every name", func(t *testing.T) {
		g.want(t, `const out = [ALL_TOOLS.some(t => t.name === "secret"), "secret" in tools]
			for (const id of ["secret", "quoin:core:secret"]) try { await tools.call(id, {}); out.push("called") } catch (e) { out.push(e.code) }
			return out`, `[false,false,"unknown_tool","unknown_tool"]`)
	})
	var runID string
	t.Run("12 a slow tool leaves the run waiting", func(t *testing.T) {
		r := g.turn.Exec(context.Background(), host.ExecInput{Code: `text("before"); const v = await tools.slow({}); text("after " + v); return v`, Wait: soon})
		runID = wantWaiting(t, r, codemode.ReasonPendingTools)
		if len(r.Output) != 1 || r.Output[0].Text() != "before" {
			t.Errorf("output %s", show(r))
		}
	})
	t.Run("13-14 wait delivers the result and what came after it", func(t *testing.T) {
		close(g.slow.open)
		r := g.turn.Wait(context.Background(), runID)
		wantValue(t, r, `"through"`)
		if len(r.Output) != 1 || r.Output[0].Text() != "after through" {
			t.Errorf("output %s", show(r))
		}
	})
	t.Run("15 timeout, abort and expiry leave nothing", func(t *testing.T) {
		g.leaveNothing(t)
	})
	t.Run("16 nested calls are under their parent", func(t *testing.T) {
		g.wantNested(t, runID)
	})
}

func (g *gateway) leaveNothing(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	wantFailure(t, g.turn.Exec(ctx, host.ExecInput{Code: `for (;;);`, Timeout: soon}), codemode.CodeTimeout, "", codemode.PhaseGuest)
	aborted := wantWaiting(t, g.turn.Exec(ctx, host.ExecInput{Code: `await yield_control()`}), codemode.ReasonYield)
	g.h.Abort(ctx, me, aborted)
	wantFailure(t, g.turn.Wait(ctx, aborted), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	wantFailure(t, g.turn.Wait(ctx, "run_unknown"), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	h := start(t, host.Config{Settings: host.Settings{SnapshotTTL: time.Second}, Store: g.store})
	listening, stop := context.WithCancel(ctx)
	defer stop()
	told := h.Follow(listening, host.EventFilter{All: true, OwnHost: true})
	expired := wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield)
	for e := range told {
		if e.Kind == trajectory.RunEnded && e.RunID == expired {
			break
		}
	}
	if r := h.Wait(ctx, me, expired); r.Status != host.StatusFailed || r.Code != codemode.CodeInvalidInput {
		t.Errorf("an expired run: %s", show(r))
	}
	if left, err := g.store.Sweep(ctx, time.Now()); err != nil || left != 0 {
		t.Errorf("%d runs are stored, %v", left, err)
	}
}

func (g *gateway) wantNested(t *testing.T, runID string) {
	t.Helper()
	run, err := g.told.Read(host.Session{AgentID: me.AgentID, SessionKey: me.SessionKey, SessionID: me.SessionID, TurnID: me.TurnID}, runID)
	if err != nil {
		t.Fatal(err)
	}
	segments := run.Segments()
	if len(segments) != 2 || segments[0].Tool != "exec" || segments[1].Tool != "wait" || len(segments[0].Calls) != 1 || segments[0].Calls[0].ToolID != "quoin:core:slow" || !segments[0].Calls[0].Ended {
		t.Errorf("segments %+v", segments)
	}
	var tree bytes.Buffer
	if err := run.WriteTree(&tree); err != nil || !strings.Contains(tree.String(), "quoin:core:slow") {
		t.Errorf("%v\n%s", err, &tree)
	}
	for _, shape := range []trajectory.Shape{trajectory.ShapeOpenAI, trajectory.ShapeAnthropic} {
		messages, err := run.Transcript(shape)
		if err != nil || len(messages) == 0 {
			t.Errorf("transcript: %v", err)
		}
	}
}
