package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/hosttest"
)

func TestMain(m *testing.M) {
	hosttest.Main(m)
}

const token = "0123456789abcdef"

var (
	me  = host.Session{AgentID: "é", SessionKey: "agent:main", SessionID: "1", TurnID: "turn"}
	ctx = context.Background()
)

// start serves a host and returns a client of it.
func start(t *testing.T, cfg host.Config) (*host.Host, *client.Client) {
	t.Helper()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guests.Path = guest
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	h, err := host.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := gateway.New(h, gateway.Options{Token: token, Logger: cfg.Logger})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	c := dial(t, "http://"+l.Addr().String()+"/", token)
	t.Cleanup(func() {
		c.Close()
		if err := errors.Join(s.Shutdown(ctx), <-ended, h.Close()); err != nil {
			t.Error(err)
		}
	})
	return h, c
}

func dial(t *testing.T, url, token string) *client.Client {
	t.Helper()
	c, err := client.New(url, client.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestAClientSaysWhatAHostSays compares each answer from afar with the answer of the host
// itself.
func TestAClientSaysWhatAHostSays(t *testing.T) {
	t.Parallel()
	h, c := start(t, host.Config{Tools: []catalog.Tool{{Name: "echo", Description: "Echoes.", Parameters: json.RawMessage(`{"type": "object"}`),
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) { return c.Input, nil }}}})
	if err := c.Health(ctx); err != nil {
		t.Error(err)
	}
	tools, err := c.Tools(ctx, me)
	if d := cmp.Diff(h.Catalog(me).Tools(), tools); d != "" || err != nil {
		t.Errorf("tools: %v\n%s", err, d)
	}
	tool, err := c.Tool(ctx, me, tools[0].ID)
	if err != nil || tool.ID != "quoin:core:echo" || string(tool.Parameters) != `{"type":"object"}` {
		t.Errorf("%+v, %v", tool, err)
	}
	if spaces, err := c.Namespaces(ctx, me); len(spaces) != 0 || err != nil {
		t.Errorf("%v, %v", spaces, err)
	}
	if list, err := c.Plugins(ctx); len(list) != 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	in := host.ExecInput{Code: `text("é"); return await tools.echo({a: [1]})`, Language: "typescript", Title: "t", Wait: 30 * time.Second}
	there, err := c.Exec(ctx, me, in)
	if err != nil {
		t.Fatal(err)
	}
	here := h.Exec(ctx, me, in)
	if string(there.Value) != string(here.Value) || string(here.Value) != `{"a":[1]}` || there.Status != here.Status || !cmp.Equal(there.Output, here.Output) || there.Telemetry.Isolation.Tier != here.Telemetry.Isolation.Tier {
		t.Errorf("there %+v\nhere %+v", there, here)
	}
	for _, rules := range []policy.Rules{{Deny: []string{"*"}}, {Allow: []string{}}} {
		denied, err := c.Exec(ctx, me, host.ExecInput{Command: `return ALL_TOOLS.length`, Rules: rules})
		if err != nil || string(denied.Value) != "0" {
			t.Errorf("%+v: %+v, %v", rules, denied, err)
		}
	}
}

// TestALargeInputFromAfar is fetched by its id.
func TestALargeInputFromAfar(t *testing.T) {
	t.Parallel()
	_, c := start(t, host.Config{})
	r, err := c.Exec(ctx, me, host.ExecInput{Code: `return await tools.ask({q: "x".repeat(100000)})`, Tools: []catalog.Tool{{Name: "ask", Description: "Asks."}}})
	if err != nil || r.Status != host.StatusWaiting || r.PendingToolCalls[0].InputBytes != 100_008 {
		t.Fatalf("%+v, %v", r, err)
	}
	if in, err := c.PendingInput(ctx, me, r.RunID, r.PendingToolCalls[0].ID); err != nil || len(in) != 100_008 {
		t.Errorf("%d bytes, %v", len(in), err)
	}
}

func TestRunsFromAfar(t *testing.T) {
	t.Parallel()
	_, c := start(t, host.Config{})
	r, err := c.Exec(ctx, me, host.ExecInput{Code: `return await tools.ask({q: 1})`, Tools: []catalog.Tool{{Name: "ask", Description: "Asks."}}})
	if err != nil || r.Status != host.StatusWaiting {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := c.Answer(ctx, me, r.RunID, r.PendingToolCalls[0].ID, host.ToolAnswer{Value: json.RawMessage(`[42]`)}); err != nil {
		t.Fatal(err)
	}
	if r, err = c.Wait(ctx, me, r.RunID); err != nil || string(r.Value) != "[42]" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = c.Exec(ctx, me, host.ExecInput{Code: `await yield_control()`}); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Abort(ctx, me, r.RunID); err != nil || got.Code != codemode.CodeAborted {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := c.WaitFor(ctx, me, r.RunID, time.Second); err != nil || got.Reason != codemode.ReasonRunUnavailable {
		t.Errorf("%+v, %v", got, err)
	}
	// What cannot travel is refused.
	_, err = c.Exec(ctx, me, host.ExecInput{Code: `return 1`, Tools: []catalog.Tool{{Name: "f", Description: "Does f.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) { return nil, nil }}}})
	if err == nil || !strings.Contains(err.Error(), "Answer") {
		t.Error(err)
	}
}

// TestRecordsFromAfar lists what is under way, and decides.
func TestRecordsFromAfar(t *testing.T) {
	t.Parallel()
	ask := policy.Hook{Name: "careful", Tools: []string{"risky"}, Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
		return policy.Verdict{Approval: &policy.ApprovalRequest{Timeout: time.Hour}}, nil
	}}
	tool := catalog.Tool{Name: "risky", Description: "Risky.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage("1"), nil
	}}
	h, c := start(t, host.Config{Settings: host.Settings{Wait: time.Second}, Tools: []catalog.Tool{tool}, Hooks: []policy.Hook{ask}})
	r, err := c.Exec(host.WithToolCallID(ctx, "call_1"), me, host.ExecInput{Code: `return await tools.risky({})`})
	if err != nil || r.Status != host.StatusWaiting || r.Reason != "approval" {
		t.Fatalf("%+v, %v", r, err)
	}
	runs, err := c.Runs(ctx, me)
	if err != nil || len(runs) != 1 || runs[0].ID != r.RunID {
		t.Errorf("%+v, %v", runs, err)
	}
	mine := &codemode.Session{AgentID: me.AgentID, SessionKey: me.SessionKey, SessionID: me.SessionID}
	for _, f := range []policy.Filter{{}, {Session: mine}, {RunID: r.RunID}, {Session: mine, Resolved: true}} {
		list, err := c.Approvals(ctx, f)
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v: %v, %v", f, list, err)
		}
		here, err := h.Approvals().List(ctx, f)
		if d := cmp.Diff(here, list); d != "" || err != nil {
			t.Errorf("%+v: %v\n%s", f, err, d)
		}
	}
	list, err := c.Approvals(ctx, policy.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := c.Decide(ctx, list[0].ID, policy.AllowAlways, "ada"); err != nil || a.State != policy.StateAllowed {
		t.Errorf("%+v, %v", a, err)
	}
	var p *gateway.Problem
	if _, err := c.Decide(ctx, list[0].ID, policy.Deny, "bob"); !errors.As(err, &p) || p.Code != gateway.ProblemConflict {
		t.Error(err)
	}
	if _, err := c.Decide(ctx, "apr_0", policy.Deny, "bob"); !errors.Is(err, policy.ErrNotFound) || !errors.As(err, &p) {
		t.Error(err)
	}
	if r, err = c.Wait(ctx, me, r.RunID); err != nil || string(r.Value) != "1" {
		t.Errorf("%+v, %v", r, err)
	}
	grants, err := c.Grants(ctx)
	here, herr := h.Approvals().Grants(ctx)
	if d := cmp.Diff(here, grants); d != "" || err != nil || herr != nil || len(grants) != 1 {
		t.Fatalf("%v, %v\n%s", err, herr, d)
	}
	if err := c.RevokeGrant(ctx, grants[0].ID); err != nil {
		t.Error(err)
	}
	if err := c.RevokeGrant(ctx, grants[0].ID); !errors.Is(err, policy.ErrNotFound) {
		t.Error(err)
	}
	if list, err := c.Trajectories(ctx, me); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := c.Trajectory(ctx, me, "run_0"); !errors.As(err, &p) || p.Code != gateway.ProblemNotFound {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	_, c := start(t, host.Config{})
	var p *gateway.Problem
	if _, err := c.Tool(ctx, me, "quoin:core:none"); !errors.As(err, &p) || p.Code != gateway.ProblemNotFound || client.Sent(err) {
		t.Error(err)
	}
	if err := c.Answer(ctx, me, "run_0", "c", host.ToolAnswer{Error: "no"}); !errors.As(err, &p) || p.Reason != string(codemode.ReasonRunUnavailable) {
		t.Error(err)
	}
	gone := dial(t, "http://127.0.0.1:1", "")
	if _, err := gone.Exec(ctx, me, host.ExecInput{Code: `return 1`}); err == nil || client.Sent(err) || !strings.Contains(err.Error(), "no server was reached at http://127.0.0.1:1; start quoin serve") {
		t.Errorf("%v, sent: %v", err, client.Sent(err))
	}
}

// TestStrangeServers are not quoin, or die in the middle of an answer.
func TestStrangeServers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handle http.HandlerFunc
		part   string
		sent   bool
	}{
		"another program": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 404) }, "not an answer of quoin", true},
		"no result":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"hello": 1}`) }, "makes no sense", true},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{`)
		}, "cut off", true},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", true},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
		}, "307", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(test.handle)
			defer s.Close()
			_, err := dial(t, s.URL, token).Exec(ctx, me, host.ExecInput{Code: `return 1`})
			if err == nil || !strings.Contains(err.Error(), test.part) || client.Sent(err) != test.sent {
				t.Errorf("%v; want %q, sent %v", err, test.part, test.sent)
			}
		})
	}
}

func TestServerURLs(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "127.0.0.1:8787", "localhost", "ftp://x", "http://", "http://x/?q", "http://x/#f", "http://user:pass@x", "http://%zz"} {
		if c, err := client.New(bad, client.Options{}); err == nil {
			c.Close()
			t.Errorf("%q was taken", bad)
		} else if strings.Contains(err.Error(), "pass") {
			t.Errorf("the password is in %v", err)
		}
	}
}

// TestAnswersFromAfar: questions and edited inputs travel as they do within a process.
func TestAnswersFromAfar(t *testing.T) {
	t.Parallel()
	ask := policy.Hook{Name: "careful", Tools: []string{"order"}, Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
		return policy.Verdict{Approval: &policy.ApprovalRequest{}}, nil
	}}
	tool := catalog.Tool{Name: "order", Description: "Orders.", Invoke: func(_ context.Context, inv catalog.Invocation) (json.RawMessage, error) {
		if inv.Resumption != nil {
			return inv.Input, nil
		}
		return nil, &codemode.InputRequired{Questions: []codemode.Question{{ID: "sure", Kind: codemode.QuestionURL, From: "shop", Message: "Look.", URL: "https://shop.example/7"}}}
	}}
	h, c := start(t, host.Config{Settings: host.Settings{Wait: time.Second}, Tools: []catalog.Tool{tool}, Hooks: []policy.Hook{ask}})
	r, err := c.Exec(ctx, me, host.ExecInput{Code: `return await tools.order({n: 1})`})
	if err != nil || r.Status != host.StatusWaiting {
		t.Fatalf("%+v, %v", r, err)
	}
	waiting := func() *policy.Approval {
		t.Helper()
		list, err := c.Approvals(ctx, policy.Filter{})
		here, herr := h.Approvals().List(ctx, policy.Filter{})
		if d := cmp.Diff(here, list); d != "" || err != nil || herr != nil || len(list) != 1 {
			t.Fatalf("%v, %v\n%s", err, herr, d)
		}
		return list[0]
	}
	if a, err := c.AllowEdited(ctx, waiting().ID, json.RawMessage(`{"n":2}`), "ada"); err != nil || string(a.EditedInput) != `{"n":2}` {
		t.Errorf("%+v, %v", a, err)
	}
	if r, err = c.Wait(ctx, me, r.RunID); err != nil || r.Status != host.StatusWaiting {
		t.Fatalf("%+v, %v", r, err)
	}
	if a, err := c.AnswerQuestion(ctx, waiting().ID, map[string]host.QuestionAnswer{"sure": {Action: codemode.AnswerAccept}}, "ada"); err != nil || a.State != policy.StateAnswered {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := c.AnswerQuestion(ctx, "apr_0", nil, ""); !errors.Is(err, policy.ErrNotFound) {
		t.Error(err)
	}
	if r, err = c.Wait(ctx, me, r.RunID); err != nil || string(r.Value) != `{"n":2}` {
		t.Errorf("%+v, %v", r, err)
	}
}
