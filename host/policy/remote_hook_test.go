package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// plugin is a plugin's hooks that answer as a test says.
type plugin struct {
	call    protocol.ToolCall
	outcome protocol.CallOutcome
	verdict protocol.HookVerdict
	value   json.RawMessage
	err     error
}

func (p *plugin) BeforeToolCall(_ context.Context, c protocol.ToolCall) (protocol.HookVerdict, error) {
	p.call = c
	return p.verdict, p.err
}

func (p *plugin) AfterToolCall(_ context.Context, c protocol.ToolCall, o protocol.CallOutcome) (json.RawMessage, error) {
	p.call, p.outcome = c, o
	return p.value, p.err
}

// remote is a chain of the one hook.
func remote(t *testing.T, has protocol.Capabilities, p *plugin) *policy.Chain {
	t.Helper()
	return chain(t, policy.RemoteHook("plugin guard", has, p))
}

var bothHooks = protocol.Capabilities{BeforeToolCall: true, AfterToolCall: true}

// TestAPluginSeesTheWholeCall: a field that was lost on the way would let a guard
// decide about something else.
func TestAPluginSeesTheWholeCall(t *testing.T) {
	t.Parallel()
	c := call(`{"n":1}`)
	c.InputKind, c.Via, c.ReadOnly = policy.InputTypeScript, "Issues.create", true
	want := protocol.ToolCall{
		Kind: "tool", InputKind: "typescript", ToolID: "quoin:issues:issues_create", Source: "quoin", Owner: "issues", ToolName: "issues_create",
		Via: "Issues.create", ReadOnly: true, Params: json.RawMessage(`{"n":1}`), CallID: "bridge:call:1",
		Run: protocol.RunContext{AgentID: "a", SessionKey: "k", SessionID: "s", RunID: "run_1", TurnID: "t"},
	}
	p := &plugin{}
	remote(t, bothHooks, p).Before(t.Context(), c, nil)
	if d := cmp.Diff(want, p.call); d != "" {
		t.Errorf("before the call (-want +got):\n%s", d)
	}
	p.call = protocol.ToolCall{}
	o := policy.Outcome{Status: policy.StatusUnknown, Message: "m", Code: "c", Duration: time.Second}
	if _, err := remote(t, bothHooks, p).After(t.Context(), c, o); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, p.call); d != "" {
		t.Errorf("after the call (-want +got):\n%s", d)
	}
	if d := cmp.Diff(protocol.CallOutcome{Status: "unknown", Message: "m", Code: "c", Duration: time.Second}, p.outcome); d != "" {
		t.Errorf("outcome (-want +got):\n%s", d)
	}
}

// TestWhatAPluginAnswersCounts, and is checked like the answer of any other hook.
func TestWhatAPluginAnswersCounts(t *testing.T) {
	t.Parallel()
	ruling := func(v protocol.HookVerdict, err error) policy.Ruling {
		return remote(t, bothHooks, &plugin{verdict: v, err: err}).Before(t.Context(), call(`{"n":1}`), nil)
	}
	if r := ruling(protocol.HookVerdict{Block: true, Reason: "no"}, nil); r.Block == nil || r.Block.Reason != "no" || r.Block.Hook != "plugin guard" {
		t.Errorf("it blocks: %+v", r)
	}
	if r := ruling(protocol.HookVerdict{Params: json.RawMessage(`{"n":2}`)}, nil); string(r.Params) != `{"n":2}` || r.Block != nil {
		t.Errorf("it rewrites: %+v", r)
	}
	want := policy.Ask{Hook: "plugin guard", ApprovalRequest: policy.ApprovalRequest{
		Title: "T", Description: "D", Severity: policy.SeverityCritical, Timeout: time.Minute, Subject: "s",
		Allowed: []policy.Decision{policy.AllowOnce, policy.Deny},
	}}
	r := ruling(protocol.HookVerdict{Approval: &protocol.ApprovalRequest{
		Title: "T", Description: "D", Severity: "critical", Timeout: time.Minute, Subject: "s", Allowed: []string{"allow-once", "deny"},
	}}, nil)
	if d := cmp.Diff([]policy.Ask{want}, r.Asks); d != "" || r.Block != nil {
		t.Errorf("it asks (-want +got):\n%s", d)
	}
	for name, r := range map[string]policy.Ruling{
		"an error":            ruling(protocol.HookVerdict{}, errors.New("gone")),
		"an error and a yes":  ruling(protocol.HookVerdict{Params: json.RawMessage(`{}`)}, errors.New("gone")),
		"an unknown decision": ruling(protocol.HookVerdict{Approval: &protocol.ApprovalRequest{Allowed: []string{"yes"}}}, nil),
		"an unknown severity": ruling(protocol.HookVerdict{Approval: &protocol.ApprovalRequest{Severity: "none"}}, nil),
		"no object":           ruling(protocol.HookVerdict{Params: json.RawMessage(`[]`)}, nil),
		"a reason, no block":  ruling(protocol.HookVerdict{Reason: "no"}, nil),
	} {
		if r.Block == nil || r.Block.Err == nil {
			t.Errorf("%s let the call pass: %+v", name, r)
		}
	}
}

// TestAPluginHasTheHooksThatItDeclares, and no others.
func TestAPluginHasTheHooksThatItDeclares(t *testing.T) {
	t.Parallel()
	p := &plugin{verdict: protocol.HookVerdict{Block: true}, value: json.RawMessage(`"***"`)}
	ok := policy.Outcome{Status: policy.StatusOK, Value: json.RawMessage(`"secret"`)}
	for _, tc := range []struct {
		has     protocol.Capabilities
		blocks  bool
		becomes string
	}{
		{bothHooks, true, `"***"`},
		{protocol.Capabilities{BeforeToolCall: true}, true, `"secret"`},
		{protocol.Capabilities{AfterToolCall: true}, false, `"***"`},
		{protocol.Capabilities{BeforeToolCall: true, AfterToolCall: true, HookTools: []string{"issues_*"}}, true, `"***"`},
		{protocol.Capabilities{BeforeToolCall: true, AfterToolCall: true, HookTools: []string{"mail_*"}}, false, `"secret"`},
	} {
		c := remote(t, tc.has, p)
		if r := c.Before(t.Context(), call(`{}`), nil); (r.Block != nil) != tc.blocks {
			t.Errorf("%+v: blocks %v", tc.has, r.Block != nil)
		}
		if v, err := c.After(t.Context(), call(`{}`), ok); string(v) != tc.becomes || err != nil {
			t.Errorf("%+v: the result is %s, %v", tc.has, v, err)
		}
	}
}

// TestChainsInARow: the hooks of the second run after the hooks of the first before a call,
// and before them after it.
func TestChainsInARow(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(name string) policy.Hook {
		return policy.Hook{
			Name: name,
			Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
				order = append(order, name)
				return policy.Verdict{}, nil
			},
			After: func(context.Context, *policy.Call, policy.Outcome) (json.RawMessage, error) {
				order = append(order, name)
				return nil, nil
			},
		}
	}
	c := chain(t, note("a"), note("b")).With(chain(t, note("c")))
	c.Before(t.Context(), call(`{}`), nil)
	if _, err := c.After(t.Context(), call(`{}`), policy.Outcome{Status: policy.StatusOK, Value: json.RawMessage(`1`)}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c", "c", "b", "a"}; c.Len() != 3 || !slices.Equal(order, want) {
		t.Errorf("%d hooks in the order %q", c.Len(), order)
	}
}
