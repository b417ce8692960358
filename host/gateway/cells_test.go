package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
)

func TestExec(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	for _, test := range []struct {
		name, body string
		pairs      []string
	}{
		{"completed", `{"code": "text('<a> & é'); return 6 * 7"}`, []string{"status", `"completed"`, "value", "42", "output", `[{"type":"text","text":"<a> & é"}]`}},
		{"typescript", `{"code": "const n: number = 1; return n", "language": "typescript", "title": "t"}`, []string{"value", "1"}},
		{"command", `{"command": "return 2", "code": null}`, []string{"value", "2"}},
		{"failed", `{"code": "throw new TypeError('no')"}`, []string{"status", `"failed"`, "code", `"internal_error"`, "reason", `"guest_exception"`, "phase", `"guest"`, "dispatched", "false"}},
		{"empty", `{"code": ""}`, []string{"status", `"failed"`, "code", `"invalid_input"`, "phase", `"input"`}},
		{"language", `{"code": "return 1", "language": "python"}`, []string{"reason", `"unsupported_language"`}},
		{"timeout", `{"code": "for (;;);", "timeoutMs": 100}`, []string{"status", `"failed"`, "code", `"timeout"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c.t = t
			c.post("/v1/exec", test.body).wants(http.StatusOK, test.pairs...)
		})
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	waiting := c.exec(`text("one"); await yield_control(); text("two"); return 42`)
	waiting.wants(200, "status", `"waiting"`, "reason", `"yield"`, "output", `[{"type":"text","text":"one"}]`)
	id := waiting.text("runId")

	for name, other := range map[string]host.Session{
		"agent":   {AgentID: "other", SessionKey: "key", SessionID: "session", TurnID: "turn"},
		"session": {AgentID: "agent", SessionKey: "key", SessionID: "other", TurnID: "turn"},
		"none":    {},
	} {
		if got := c.as(other).wait(id).wants(200, "status", `"failed"`).text("reason"); got != "wrong_session" {
			t.Errorf("%s: %s", name, got)
		}
		c.as(other).post("/v1/abort", map[string]string{"runId": id}).wants(200, "reason", `"wrong_session"`)
	}
	turn := me
	turn.TurnID = "another turn"
	c.as(turn).wait(id).wants(200, "reason", `"wrong_run"`)

	c.wait(id).wants(200, "status", `"completed"`, "value", "42", "output", `[{"type":"text","text":"two"}]`)
	c.wait(id).wants(200, "status", `"failed"`, "reason", `"run_unavailable"`)
}

// TestSessionsOfAnyText names a session that a header cannot hold as it is.
func TestSessionsOfAnyText(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	odd := c.as(host.Session{SessionKey: " agent:main:é 100%41\r\nx ", SessionID: "ℵ"})
	id := odd.exec(`await yield_control(); return 1`).text("runId")
	c.as(host.Session{SessionKey: "agent:main", SessionID: "ℵ"}).wait(id).wants(200, "reason", `"wrong_session"`)
	odd.wait(id).wants(200, "value", "1")
}

func TestAbort(t *testing.T) {
	t.Parallel()
	g := newGate()
	c := serve(t, newHost(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}}), gateway.Options{}, nil)
	id := c.exec(`const slow = tools.slow({}); await yield_control(); return await slow`).wants(200, "status", `"waiting"`).text("runId")
	<-g.entered
	c.post("/v1/abort", map[string]string{"runId": id}).wants(200, "status", `"failed"`, "code", `"aborted"`)
	if err := <-g.ended; !errors.Is(err, host.ErrAborted) {
		t.Errorf("the call ended with %v", err)
	}
	c.wait(id).wants(200, "reason", `"run_unavailable"`)
	c.post("/v1/abort", map[string]string{"runId": id}).wants(200, "reason", `"run_unavailable"`)
}

// startPost posts a request that gets no answer: leave cancels it.
func (c *caller) startPost(path, body string) (leave func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	r := c.request(ctx, http.MethodPost, path, body)
	go func() {
		resp, err := c.client.Do(r)
		if err == nil {
			err = errors.Join(errors.New("it got an answer"), resp.Body.Close())
		}
		left <- err
	}()
	return func() {
		c.t.Helper()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			c.t.Fatal(err)
		}
	}
}

// TestExecOfAClientThatGoesAwayIsAborted leaves in the middle of a call.
func TestExecOfAClientThatGoesAwayIsAborted(t *testing.T) {
	t.Parallel()
	g := newGate()
	c := serve(t, newHost(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}}), gateway.Options{}, nil)
	leave := c.startPost("/v1/exec", `{"code": "return await tools.slow({})"}`)
	<-g.entered
	leave()
	<-g.ended // cancelled, though the gate is closed
}

// TestWaitOfAClientThatGoesAwayIsKept leaves in the middle of a wait; the run and its output
// continue.
func TestWaitOfAClientThatGoesAwayIsKept(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("slow")}})
	log := make(lines, 100)
	c := serve(t, h, gateway.Options{Logger: debugLogger(log)}, nil)
	id := c.exec(`await yield_control(); text("kept"); return await tools.slow({})`).text("runId")
	leave := c.startPost("/v1/wait", `{"runId": "`+id+`"}`)
	<-g.entered
	c.wait(id).wants(200, "reason", `"run_busy"`) // while the first is there
	leave()
	log.await("its result is kept")
	other := me
	other.SessionID = "other"
	c.as(other).wait(id).wants(200, "reason", `"wrong_session"`)
	close(g.open)
	c.wait(id).wants(200, "value", `"through"`, "output", `[{"type":"text","text":"kept"}]`)
	c.wait(id).wants(200, "reason", `"run_unavailable"`)
}

// TestWaitsThatWereLeftHoldUpNoOne: the next client waits as long as it wants to, and not as
// long as the client that has left. It gets the output made in the meantime.
func TestWaitsThatWereLeftHoldUpNoOne(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]time.Duration{"while it goes on": 0, "once it was given up": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			h := newHost(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}})
			log := make(lines, 100)
			c := serve(t, h, gateway.Options{Logger: debugLogger(log), KeepResult: keep}, nil)
			id := c.exec(`await yield_control(); text("kept"); return await tools.slow({})`).text("runId")
			leave := c.startPost("/v1/wait", `{"runId": "`+id+`", "waitMs": 600000}`)
			<-g.entered
			leave()
			log.await("its result is kept")
			open := sync.OnceFunc(func() { close(g.open) })
			defer time.AfterFunc(20*time.Second, open).Stop() // a test that fails ends, too
			a := c.post("/v1/wait", `{"runId": "`+id+`", "waitMs": 100}`)
			for string(a.member("reason")) == `"run_busy"` { // the first wait has not ended yet
				a = c.post("/v1/wait", `{"runId": "`+id+`", "waitMs": 100}`)
			}
			a.wants(200, "status", `"waiting"`, "output", `[{"type":"text","text":"kept"}]`)
			open()
			c.wait(id).wants(200, "value", `"through"`)
		})
	}
}

// TestClientTools answers the calls of the caller's own tools.
func TestClientTools(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	exec := map[string]any{
		"code": `const r = await Promise.allSettled([tools.ask({q: 1}), tools.ask({q: 2}), tools.ask({q: 3})]);
			return r.map(r => r.reason?.message ?? r.value)`,
		"tools": []any{map[string]any{
			"name": "ask", "description": "Asks.", "label": "Ask", "readOnly": true, "idempotent": true, "owner": "desk",
			"parameters": map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "integer"}}},
			"output":     map[string]any{"type": []any{"string", "null"}},
			"examples":   []any{map[string]any{"description": "one", "input": map[string]any{"q": 1}, "output": "a"}},
		}},
	}
	a := c.post("/v1/exec", exec).wants(200, "status", `"waiting"`, "reason", `"pending_tools"`)
	id := a.text("runId")
	var pending []codemode.PendingCall
	if err := json.Unmarshal(a.member("pendingToolCalls"), &pending); err != nil {
		t.Fatal(err)
	}
	answers := map[string]map[string]any{`{"q":1}`: {"value": "one"}, `{"q":2}`: {"error": "cannot"}, `{"q":3}`: {}}
	for _, p := range pending {
		body := answers[string(p.Input)]
		body["runId"], body["callId"] = id, p.ID
		if p.Tool != "client:desk:ask" {
			t.Errorf("%+v", p)
		}
		other := me
		other.SessionID = "other"
		c.as(other).post("/v1/answers", body).problem(409, gateway.ProblemConflict).wants(409, "reason", `"wrong_session"`)
		c.post("/v1/answers", body).wants(200, "status", `"answered"`)
		c.post("/v1/answers", body).wants(200, "status", `"answered"`) // again
	}
	c.post("/v1/answers", map[string]any{"runId": id, "callId": "nope"}).problem(400, gateway.ProblemInvalidRequest)
	c.wait(id).wants(200, "value", `["one","cannot",null]`)
	c.post("/v1/answers", map[string]any{"runId": id, "callId": pending[0].ID}).problem(404, gateway.ProblemNotFound)

	for _, body := range []string{
		`{"runId": "r"}`, `{"callId": "c"}`, `{"runId": "r", "callId": "c", "value": 1, "error": "e"}`, `{"runId": "r", "callId": "c", "error": ""}`,
	} {
		c.post("/v1/answers", body).problem(400, gateway.ProblemInvalidRequest)
	}
	for body, field := range map[string]string{
		`{"tools": {}}`:     "tools",
		`{"tools": [1]}`:    "tools[0]",
		`{"tools": [null]}`: "tools[0]",
		`{"tools": [{}]}`:   "tools[0].name",
		`{"tools": [{"name": "a", "schema": {}}]}`:           "tools[0].schema",
		`{"tools": [{"name": "a", "name": "b"}]}`:            "tools[0].name",
		`{"tools": [{"name": "a", "readOnly": "yes"}]}`:      "tools[0].readOnly",
		`{"tools": [{"name": "a", "examples": [{"x": 1}]}]}`: "tools[0].examples[0].x",
		`{"rules": []}`:             "rules",
		`{"rules": {"deny": "x"}}`:  "rules.deny",
		`{"rules": {"allow": [1]}}`: "rules.allow",
	} {
		a := c.post("/v1/exec", body).problem(400, gateway.ProblemInvalidRequest)
		var p gateway.Problem
		if err := json.Unmarshal(a.body, &p); err != nil || p.Errors[0].Field != field {
			t.Errorf("%s: %v\n%s", body, err, a.body)
		}
	}
}

// TestLargeInputsAreFetched: a waiting result has as much of inputs as of output; what
// is left out is fetched by its id, by the session of the run alone.
func TestLargeInputsAreFetched(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	a := c.post("/v1/exec", `{"code": "return (await Promise.all([tools.ask({q: 1}), tools.ask({q: 'x'.repeat(100000)}), tools.ask({q: 2})])).length",
		"tools": [{"name": "ask", "description": "Asks."}]}`).wants(200, "status", `"waiting"`)
	var pending []codemode.PendingCall
	if err := json.Unmarshal(a.member("pendingToolCalls"), &pending); err != nil {
		t.Fatal(err)
	}
	if len(a.body) > 16<<10 || string(pending[0].Input) != `{"q":1}` || pending[1].Input != nil || pending[1].InputBytes != 100_008 || string(pending[2].Input) != `{"q":2}` {
		t.Errorf("%d bytes: %.3000s", len(a.body), a.body)
	}
	id := a.text("runId")
	path := "/v1/calls/" + pending[1].ID + "?run=" + id
	if got := c.get(path).wants(200, "id", `"`+pending[1].ID+`"`).member("input"); len(got) != 100_008 {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
	other := me
	other.SessionID = "other"
	c.as(other).get(path).problem(409, gateway.ProblemConflict)
	c.get("/v1/calls/bridge:call:9?run="+id).problem(404, gateway.ProblemNotFound)
	c.get("/v1/calls/bridge:call:1?run=run_1").problem(404, gateway.ProblemNotFound)
	for _, p := range pending {
		c.post("/v1/answers", map[string]any{"runId": id, "callId": p.ID, "value": 1}).wants(200)
	}
	c.get(path).problem(404, gateway.ProblemNotFound)
	c.wait(id).wants(200, "value", "3")
}

// TestRules narrows what one run reaches.
func TestRules(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{Tools: []catalog.Tool{newGate().tool("a"), newGate().tool("b")}}), gateway.Options{}, nil)
	c.post("/v1/exec", `{"code": "return ALL_TOOLS.map(t => t.name)", "rules": {"deny": ["quoin:core:a"]}}`).wants(200, "value", `["b"]`)
	c.post("/v1/exec", `{"code": "return ALL_TOOLS.map(t => t.name)", "rules": {"allow": ["quoin:core:a"]}}`).wants(200, "value", `["a"]`)
	c.post("/v1/exec", `{"code": "return ALL_TOOLS.map(t => t.name)", "rules": {"allow": []}}`).wants(200, "value", `[]`)
	c.post("/v1/exec", `{"code": "return ALL_TOOLS.length", "rules": {"allow": null}}`).wants(200, "value", `2`)
}

// TestCompactResults: a client that asks for it gets what a model is to be shown, in one
// rendering with the MCP server and ModelTools.
func TestCompactResults(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	for _, tc := range []struct{ path, body, want string }{
		{"/v1/exec", `{"code": "text('a'); return 6 * 7", "compact": true}`, `{"status":"completed","value":42,"output":["a"]}`},
		{"/v1/exec", `{"code": "", "compact": true}`, `"code":"invalid_input"`},
		{"/v1/wait", `{"runId": "run_00112233445566778899aabbccddeeff", "compact": true}`, `"code":"run_unavailable"`},
	} {
		a := c.send(c.request(context.Background(), http.MethodPost, tc.path, tc.body)).wants(http.StatusOK)
		if got := string(a.body); !strings.Contains(got, tc.want) || strings.Contains(got, "telemetry") || strings.Contains(got, "phase") {
			t.Errorf("%s %s: %s, want %s", tc.path, tc.body, got, tc.want)
		}
	}
	run := c.send(c.request(context.Background(), http.MethodPost, "/v1/exec", `{"code": "await yield_control(); return 1", "compact": true}`)).text("runId")
	if a := c.send(c.request(context.Background(), http.MethodPost, "/v1/wait", `{"runId": "`+run+`", "compact": true}`)); strings.TrimSpace(string(a.body)) != `{"status":"completed","value":1}` {
		t.Errorf("wait: %s", a.body)
	}
	if a := c.send(c.request(context.Background(), http.MethodPost, "/v1/exec", `{"code": "return 1", "compact": "yes"}`)); a.status != http.StatusBadRequest {
		t.Errorf("compact as a text: %d", a.status)
	}
}
