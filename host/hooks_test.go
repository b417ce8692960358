package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// says is a before-hook with one answer.
func says(name string, v policy.Verdict, tools ...string) policy.Hook {
	return policy.Hook{Name: name, Tools: tools, Before: func(context.Context, *policy.Call) (policy.Verdict, error) { return v, nil }}
}

// numbers is a tool that takes one number and returns its input.
func numbers(name string) catalog.Tool {
	t := echo(name)
	t.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)
	return t
}

// refused is a program that tells how a call of echo fails.
const refused = `try { return await tools.echo({n: 1}) } catch (e) { return [e.message, e.code, e.effectStatus, e.toolId] }`

func TestHooksSeeNestedCallsAndThePrograms(t *testing.T) {
	t.Parallel()
	var seen []policy.Call
	h := start(t, host.Config{Tools: []catalog.Tool{numbers("echo")}, Hooks: []policy.Hook{{Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
		seen = append(seen, *c)
		return policy.Verdict{}, nil
	}}}})
	code := `const r: number = (await tools.echo({n: 1})).n; return r`
	r := h.Exec(t.Context(), me, host.ExecInput{Code: code, Language: "typescript", Title: "one"})
	wantValue(t, r, `1`)
	if len(seen) != 2 {
		t.Fatalf("%d calls were seen, want the program and its call", len(seen))
	}
	session := host.Session{AgentID: "agent", SessionKey: "key", SessionID: "session", TurnID: "turn"}
	want := []policy.Call{
		{
			Kind: policy.KindExec, InputKind: policy.InputTypeScript, ToolID: "quoin:code_mode:exec", Source: "quoin", Owner: "code_mode", ToolName: "exec",
			Params:  json.RawMessage(fmt.Sprintf(`{"code":%q,"command":%q,"language":"typescript","title":"one"}`, code, code)),
			Session: session, RunID: seen[0].RunID, CallID: "bridge:exec:0",
		},
		{
			Kind: policy.KindTool, ToolID: "quoin:core:echo", Source: "quoin", Owner: "core", ToolName: "echo", ReadOnly: true,
			Params: json.RawMessage(`{"n":1}`), Session: session, RunID: seen[0].RunID, CallID: "bridge:call:1",
		},
	}
	if d := cmp.Diff(want, seen); d != "" || !strings.HasPrefix(seen[0].RunID, "run_") {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// TestHooksOnThePrograms: the outer call can be rewritten and blocked like any
// other, and code and command stay one thing.
func TestHooksOnThePrograms(t *testing.T) {
	t.Parallel()
	rewrite := func(params string) policy.Verdict { return policy.Verdict{Params: json.RawMessage(params)} }
	for _, tc := range []struct {
		name    string
		verdict policy.Verdict
		value   string
		code    codemode.Code
		say     string
	}{
		{"code", rewrite(`{"code":"return 2"}`), `2`, "", ""},
		{"command", rewrite(`{"command":"return 3"}`), `3`, "", ""},
		{"both", rewrite(`{"code":"return 4","command":"return 4"}`), `4`, "", ""},
		{"language", rewrite(`{"code":"return 5 as number","language":"typescript"}`), `5`, "", ""},
		{"title", rewrite(`{"title":"six"}`), `1`, "", ""},
		{"two programs", rewrite(`{"code":"return 4","command":"return 5"}`), "", codemode.CodeInternal, `the hook "guard" failed`},
		{"blank code", rewrite(`{"code":""}`), "", codemode.CodeInternal, `the hook "guard" failed`},
		{"blank command", rewrite(`{"command":" "}`), "", codemode.CodeInternal, `the hook "guard" failed`},
		{"unknown language", rewrite(`{"language":"cobol"}`), "", codemode.CodeInternal, `the hook "guard" failed`},
		{"unknown field", rewrite(`{"timeout":5}`), "", codemode.CodeInternal, `the hook "guard" failed`},
		{"not a string", rewrite(`{"code":5}`), "", codemode.CodeInternal, `the hook "guard" failed`},
		{"block", policy.Verdict{Block: true, Reason: "no loops"}, "", codemode.CodeInvalidInput, "code mode exec was blocked before execution: no loops"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := start(t, host.Config{Hooks: []policy.Hook{says("guard", tc.verdict, policy.ExecTool.ID())}})
			r := exec(h, `return 1`)
			if tc.code == "" {
				wantValue(t, r, tc.value)
				return
			}
			wantFailure(t, r, tc.code, "", codemode.PhaseHost)
			if !strings.Contains(r.Error, tc.say) || r.Dispatched {
				t.Errorf("got %s, want it to say %q", show(r), tc.say)
			}
		})
	}
}

func TestABadHookPatternIsAnError(t *testing.T) {
	t.Parallel()
	for _, cfg := range []host.Config{
		{Hooks: []policy.Hook{says("guard", policy.Verdict{}, "issues:")}},
		{Plugins: host.PluginConfig{Hooks: map[string][]string{"audit": {""}}}},
	} {
		_, err := host.New(context.Background(), cfg)
		var bad *policy.PatternError
		if !errors.As(err, &bad) {
			t.Errorf("got %v, want a bad pattern", err)
		}
	}
}
