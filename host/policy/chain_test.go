package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

func call(params string) policy.Call {
	return policy.Call{
		Kind: policy.KindTool, ToolID: "quoin:issues:issues_create", Source: "quoin", ToolName: "issues_create", Owner: "issues",
		Params: json.RawMessage(params), Session: codemode.Session{AgentID: "a", SessionKey: "k", SessionID: "s", TurnID: "t"},
		RunID: "run_1", CallID: "bridge:call:1",
	}
}

// says is a before-hook with one answer.
func says(name string, v policy.Verdict) policy.Hook {
	return policy.Hook{Name: name, Before: func(context.Context, *policy.Call) (policy.Verdict, error) { return v, nil }}
}

func before(t *testing.T, hooks ...policy.Hook) policy.Ruling {
	t.Helper()
	return chain(t, hooks...).Before(t.Context(), call(`{"n":1}`), nil)
}

func chain(t *testing.T, hooks ...policy.Hook) *policy.Chain {
	t.Helper()
	c, err := policy.NewChain(hooks, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHooksSeeTheCall(t *testing.T) {
	t.Parallel()
	want := call(`{"n":1}`)
	var got policy.Call
	before(t, policy.Hook{Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
		got = *c
		return policy.Verdict{}, nil
	}})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("call (-want +got):\n%s", d)
	}
}

// TestEachHookSeesTheRewritesBefore: order, and that a hook cannot change what it
// has been shown or has answered.
func TestEachHookSeesTheRewritesBefore(t *testing.T) {
	t.Parallel()
	var seen []string
	var kept json.RawMessage
	look := func(answer string) policy.Hook {
		return policy.Hook{Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
			seen = append(seen, string(c.Params))
			copy(c.Params, "garbage")
			copy(kept, "garbage")
			if answer == "" {
				return policy.Verdict{}, nil
			}
			kept = json.RawMessage(answer)
			return policy.Verdict{Params: kept}, nil
		}}
	}
	r := before(t, look(`{"n":2}`), look(""), look(`{"n":3}`), look(""))
	if want := []string{`{"n":1}`, `{"n":2}`, `{"n":2}`, `{"n":3}`}; !slices.Equal(seen, want) {
		t.Errorf("hooks saw %q, want %q", seen, want)
	}
	if string(r.Params) != `{"n":3}` || r.Block != nil || r.Asks != nil {
		t.Errorf("ruling %+v", r)
	}
}

func TestTheFirstBlockWins(t *testing.T) {
	t.Parallel()
	never := policy.Hook{Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
		t.Error("a hook behind a block was asked")
		return policy.Verdict{}, nil
	}}
	r := before(t, says("asks", policy.Verdict{Approval: &policy.ApprovalRequest{}}), says("no", policy.Verdict{Block: true, Reason: "not\x1b[31m today"}), never)
	if r.Block == nil || r.Block.Hook != "no" || r.Block.Reason != "not\uFFFD[31m today" || r.Block.Err != nil {
		t.Errorf("block %+v", r.Block)
	}
}

// TestFailingHooksBlock: whatever is not a verdict blocks, and names the hook.
func TestFailingHooksBlock(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	defer close(hang)
	fail := func(f func(ctx context.Context) (policy.Verdict, error)) policy.Hook {
		return policy.Hook{Name: "bad", Before: func(ctx context.Context, _ *policy.Call) (policy.Verdict, error) { return f(ctx) }}
	}
	slow := fail(func(context.Context) (policy.Verdict, error) { <-hang; return policy.Verdict{}, nil })
	slow.Timeout = time.Millisecond
	obedient := fail(func(ctx context.Context) (policy.Verdict, error) { <-ctx.Done(); return policy.Verdict{}, nil })
	obedient.Timeout = time.Millisecond
	for _, tc := range []struct {
		name string
		hook policy.Hook
		say  string
	}{
		{"error", fail(func(context.Context) (policy.Verdict, error) { return policy.Verdict{}, errors.New("out of order") }), "out of order"},
		{"panic", fail(func(context.Context) (policy.Verdict, error) { panic("oops") }), "panicked: oops"},
		{"goexit", fail(func(context.Context) (policy.Verdict, error) { runtime.Goexit(); return policy.Verdict{}, nil }), "without an answer"},
		{"hangs", slow, "in time"},
		{"gives up", obedient, "in time"},
		{"params no object", says("bad", policy.Verdict{Params: json.RawMessage(`[1]`)}), "not a JSON object"},
		{"params no JSON", says("bad", policy.Verdict{Params: json.RawMessage(`{`)}), "not a JSON object"},
		{"params empty", says("bad", policy.Verdict{Params: json.RawMessage{}}), "not a JSON object"},
		{"reason without block", says("bad", policy.Verdict{Reason: "hm"}), "did not block"},
		{"severity", says("bad", policy.Verdict{Approval: &policy.ApprovalRequest{Severity: "dire"}}), `"dire"`},
		{"decision", says("bad", policy.Verdict{Approval: &policy.ApprovalRequest{Allowed: []policy.Decision{"maybe"}}}), `"maybe"`},
		{"timeout", says("bad", policy.Verdict{Approval: &policy.ApprovalRequest{Timeout: -1}}), "positive"},
		{"subject", says("bad", policy.Verdict{Approval: &policy.ApprovalRequest{Subject: strings.Repeat("x", 2000)}}), "subject"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := before(t, tc.hook)
			if r.Block == nil || r.Block.Hook != "bad" || r.Block.Err == nil || !strings.Contains(r.Block.Err.Error(), tc.say) {
				t.Errorf("block %+v, want one of %q", r.Block, tc.say)
			}
		})
	}
	t.Run("cancelled call", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("over"))
		r := chain(t, obedient).Before(ctx, call(`{}`), nil)
		if r.Block == nil || r.Block.Err == nil {
			t.Errorf("block %+v", r.Block)
		}
	})
}

func TestRewritesAreChecked(t *testing.T) {
	t.Parallel()
	c := chain(t, says("a", policy.Verdict{Params: json.RawMessage(` {"n": 2} `)}), says("b", policy.Verdict{Params: json.RawMessage(`{"n":"x"}`)}))
	r := c.Before(t.Context(), call(`{"n":1}`), func(before, after json.RawMessage) (json.RawMessage, error) {
		if string(after) == `{"n": 2}` && string(before) == `{"n":1}` {
			return json.RawMessage(`{"n":2}`), nil
		}
		return nil, errors.New("n must be a number, was " + string(before))
	})
	if r.Block == nil || r.Block.Hook != "b" || !strings.Contains(r.Block.Err.Error(), `n must be a number, was {"n":2}`) {
		t.Errorf("block %+v", r.Block)
	}
}

func TestPatternsChooseTheCalls(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		patterns string
		want     bool
	}{
		{"", true}, {"*", true}, {"issues_create", true}, {"issues_*", true}, {"quoin:issues:*", true}, {"owner:issues", true}, {"a b issues_create", true},
		{"issues_list", false}, {"issues_create?", false}, {"ISSUES_*", false}, {"source:mcp", false},
	} {
		h := says("no", policy.Verdict{Block: true})
		h.Tools = strings.Fields(tc.patterns)
		if got := before(t, h).Block != nil; got != tc.want {
			t.Errorf("%q wants the call: %v", tc.patterns, got)
		}
	}
	_, err := policy.NewChain([]policy.Hook{{Name: "slip", Tools: []string{"*", "issues:"}}}, 0)
	var bad *policy.PatternError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), `"slip"[1]`) {
		t.Errorf("got %v", err)
	}
}

func TestAfterHooks(t *testing.T) {
	t.Parallel()
	var order []string
	replace := func(name, value string, err error) policy.Hook {
		return policy.Hook{Name: name, After: func(_ context.Context, _ *policy.Call, o policy.Outcome) (json.RawMessage, error) {
			order = append(order, name+" "+string(o.Value))
			copy(o.Value, "garbage")
			if value == "" {
				return nil, err
			}
			return json.RawMessage(value), err
		}}
	}
	ok := policy.Outcome{Status: policy.StatusOK, Value: json.RawMessage(`"secret"`)}
	bad := policy.Outcome{Status: policy.StatusError, Message: "no", Code: "tool_error"}
	after := func(o policy.Outcome, hooks ...policy.Hook) (string, error) {
		order = nil
		v, err := chain(t, hooks...).After(t.Context(), call(`{}`), o)
		return string(v), err
	}
	if v, err := after(ok, replace("outer", `"***"`, nil), replace("inner", `"s…t"`, nil), replace("look", "", nil)); v != `"***"` || err != nil {
		t.Errorf("got %s, %v", v, err)
	}
	if want := []string{`look "secret"`, `inner "secret"`, `outer "s…t"`}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	for _, tc := range []struct {
		name string
		o    policy.Outcome
		h    policy.Hook
	}{
		{"error", ok, replace("bad", "", errors.New("out of order"))},
		{"not JSON", ok, replace("bad", `{`, nil)},
		{"a success of a failure", bad, replace("bad", `1`, nil)},
		{"panic", ok, policy.Hook{Name: "bad", After: func(context.Context, *policy.Call, policy.Outcome) (json.RawMessage, error) { panic(1) }}},
	} {
		v, err := after(tc.o, tc.h)
		var e *policy.HookError
		if v != "" || !errors.As(err, &e) || e.Hook != "bad" {
			t.Errorf("%s: got %s, %v", tc.name, v, err)
		}
	}
	if v, err := after(bad, replace("look", "", nil)); v != "" || err != nil {
		t.Errorf("got %s, %v", v, err)
	}
}

func TestApprovalsMerge(t *testing.T) {
	t.Parallel()
	r := before(t,
		says("a", policy.Verdict{Approval: &policy.ApprovalRequest{Title: "Create?", Description: "One.", Severity: policy.SeverityInfo, Timeout: time.Hour}}),
		says("quiet", policy.Verdict{}),
		says("b", policy.Verdict{Params: json.RawMessage(`{"n":2}`), Approval: &policy.ApprovalRequest{
			Title: "Really?", Description: "Two\x07.", Severity: policy.SeverityCritical, Timeout: time.Minute, Subject: "n",
			Allowed: []policy.Decision{policy.AllowOnce},
		}}),
		says("c", policy.Verdict{Approval: &policy.ApprovalRequest{Allowed: []policy.Decision{policy.Deny, policy.AllowAlways, policy.AllowOnce}}}))
	if r.Block != nil || len(r.Asks) != 3 {
		t.Fatalf("ruling %+v", r)
	}
	got, err := policy.Merge(r.Asks)
	want := policy.ApprovalRequest{
		Title: "Create?", Description: "One.\n\nTwo\\a.", Severity: policy.SeverityCritical, Timeout: time.Minute,
		Allowed: []policy.Decision{policy.AllowOnce, policy.Deny},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	only := func(d policy.Decision) policy.Hook {
		return says("x", policy.Verdict{Approval: &policy.ApprovalRequest{Allowed: []policy.Decision{d}}})
	}
	if _, err := policy.Merge(before(t, only(policy.AllowOnce), only(policy.AllowAlways)).Asks); err == nil {
		t.Error("two hooks that allow no common decision were merged")
	}
	if req := before(t, says("x", policy.Verdict{Approval: &policy.ApprovalRequest{Timeout: 1}})).Asks[0]; req.Timeout != policy.MinApprovalTimeout ||
		req.Severity != policy.SeverityWarning || len(req.Allowed) != 3 {
		t.Errorf("defaults %+v", req)
	}
}

func TestAHookWithoutFunctionsIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := policy.NewChain([]policy.Hook{{Name: "guard"}}, 0); err == nil || !strings.Contains(err.Error(), `"guard"`) {
		t.Errorf("got %v", err)
	}
}

// TestARequestIsShownWholeOrNotAtAll: what would be cut off could be what matters, and what
// hides characters is shown as an escape.
func TestARequestIsShownWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	asks := func(title, description string) policy.Ruling {
		return before(t, says("shell", policy.Verdict{Approval: &policy.ApprovalRequest{Title: title, Description: description}}))
	}
	r := asks("Run?", "Command: echo \u202egpj\x1b[2J\ta\r\\n\xff\nHost: gateway")
	if r.Block != nil || r.Asks[0].Description != "Command: echo \\u202egpj\\x1b[2J\\ta\\r\\n\\xff\nHost: gateway" {
		t.Errorf("%+v", r)
	}
	for name, r := range map[string]policy.Ruling{
		"title":                  asks(strings.Repeat("x", 257), ""),
		"description":            asks("", strings.Repeat("x", 8<<10+1)),
		"description of escapes": asks("", strings.Repeat("\u202e", 4<<10)),
	} {
		if r.Block == nil || r.Block.Err == nil || !strings.Contains(r.Block.Err.Error(), "at most") {
			t.Errorf("%s: %+v, want a block", name, r)
		}
	}
	half := strings.Repeat("x", 5<<10)
	if _, err := policy.Merge(append(asks("", half).Asks, asks("", half+"y").Asks...)); err == nil {
		t.Error("two requests were cut to fit")
	}
}
