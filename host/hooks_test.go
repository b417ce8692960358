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

func TestHooksRewriteNestedCalls(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{numbers("echo")}, Hooks: []policy.Hook{
		says("two", policy.Verdict{Params: json.RawMessage(`{"n":2}`)}, "echo"),
		{Name: "one more", Tools: []string{"echo"}, Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
			var in struct{ N int }
			err := json.Unmarshal(c.Params, &in)
			return policy.Verdict{Params: json.RawMessage(fmt.Sprintf(`{"n":%d}`, in.N+1))}, err
		}},
	}})
	wantValue(t, exec(h, `return (await tools.echo({n: 1})).n`), `3`)
}

// TestHooksBlock: a blocked call never reaches its tool, and the program is told
// so and can go on.
func TestHooksBlock(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		hook policy.Hook
		want string
	}{
		{"reason", says("guard", policy.Verdict{Block: true, Reason: "not on Sundays"}, "echo"),
			`["The call of \"echo\" was blocked before execution: not on Sundays","blocked","none","quoin:core:echo"]`},
		{"no reason", says("guard", policy.Verdict{Block: true}, "echo"),
			`["The call of \"echo\" was blocked before execution by the hook \"guard\".","blocked","none","quoin:core:echo"]`},
		{"error", policy.Hook{Name: "guard", Tools: []string{"echo"}, Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
			return policy.Verdict{}, errors.New("the secret is 42")
		}}, `["The call of \"echo\" was blocked before execution, because the hook \"guard\" failed.","hook_failed","none","quoin:core:echo"]`},
		{"panic", policy.Hook{Name: "guard", Tools: []string{"echo"}, Before: func(context.Context, *policy.Call) (policy.Verdict, error) { panic("oops") }},
			`["The call of \"echo\" was blocked before execution, because the hook \"guard\" failed.","hook_failed","none","quoin:core:echo"]`},
		{"rewrite that does not fit", says("guard", policy.Verdict{Params: json.RawMessage(`{"n":"x"}`)}, "echo"),
			`["The call of \"echo\" was blocked before execution, because the hook \"guard\" failed.","hook_failed","none","quoin:core:echo"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool := numbers("echo")
			tool.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
				t.Error("a blocked call reached its tool")
				return nil, nil
			}
			r := exec(start(t, host.Config{Tools: []catalog.Tool{tool}, Hooks: []policy.Hook{tc.hook}}), refused)
			wantValue(t, r, tc.want)
		})
	}
	t.Run("not dispatched", func(t *testing.T) {
		h := start(t, host.Config{Tools: []catalog.Tool{numbers("echo")}, Hooks: []policy.Hook{says("guard", policy.Verdict{Block: true}, "echo")}})
		if r := exec(h, `return await tools.echo({n: 1})`); r.Status != host.StatusFailed || r.Dispatched {
			t.Errorf("got %s", show(r))
		}
	})
}

func TestAfterHooksReplaceResults(t *testing.T) {
	t.Parallel()
	failing := catalog.Tool{Name: "fails", Description: "Fails.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return nil, errors.New("no")
	}}
	var outcomes []string
	h := start(t, host.Config{Tools: []catalog.Tool{numbers("echo"), numbers("withheld"), failing}, Hooks: []policy.Hook{
		{Name: "log", After: func(_ context.Context, c *policy.Call, o policy.Outcome) (json.RawMessage, error) {
			outcomes = append(outcomes, fmt.Sprintf("%s %s %s%s %s", c.ToolName, o.Status, o.Value, o.Message, o.Code))
			return nil, nil
		}},
		{Name: "redact", Tools: []string{"echo"}, After: func(context.Context, *policy.Call, policy.Outcome) (json.RawMessage, error) {
			return json.RawMessage(`"***"`), nil
		}},
		{Name: "broken", Tools: []string{"withheld"}, After: func(context.Context, *policy.Call, policy.Outcome) (json.RawMessage, error) {
			return nil, errors.New("out of order")
		}},
	}})
	wantValue(t, exec(h, `
const said = [await tools.echo({n: 1})];
for (const name of ["withheld", "fails"]) try { said.push(await tools[name]({n: 1})) } catch (e) { said.push(e.message + "|" + e.code) }
return said`), `["***","\"withheld\" was called, but its result is withheld, because the hook \"broken\" failed.|hook_failed","no|tool_error"]`)
	want := []string{`echo ok "***" `, `fails error no tool_error`}
	if d := cmp.Diff(want, outcomes); d != "" {
		t.Errorf("outcomes (-want +got):\n%s", d)
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
		code    host.Code
		say     string
	}{
		{"code", rewrite(`{"code":"return 2"}`), `2`, "", ""},
		{"command", rewrite(`{"command":"return 3"}`), `3`, "", ""},
		{"both", rewrite(`{"code":"return 4","command":"return 4"}`), `4`, "", ""},
		{"language", rewrite(`{"code":"return 5 as number","language":"typescript"}`), `5`, "", ""},
		{"title", rewrite(`{"title":"six"}`), `1`, "", ""},
		{"two programs", rewrite(`{"code":"return 4","command":"return 5"}`), "", host.CodeInternal, `the hook "guard" failed`},
		{"blank code", rewrite(`{"code":""}`), "", host.CodeInternal, `the hook "guard" failed`},
		{"blank command", rewrite(`{"command":" "}`), "", host.CodeInternal, `the hook "guard" failed`},
		{"unknown language", rewrite(`{"language":"cobol"}`), "", host.CodeInternal, `the hook "guard" failed`},
		{"unknown field", rewrite(`{"timeout":5}`), "", host.CodeInternal, `the hook "guard" failed`},
		{"not a string", rewrite(`{"code":5}`), "", host.CodeInternal, `the hook "guard" failed`},
		{"block", policy.Verdict{Block: true, Reason: "no loops"}, "", host.CodeInvalidInput, "code mode exec was blocked before execution: no loops"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := start(t, host.Config{Hooks: []policy.Hook{says("guard", tc.verdict, policy.ExecTool.ID())}})
			r := exec(h, `return 1`)
			if tc.code == "" {
				wantValue(t, r, tc.value)
				return
			}
			wantFailure(t, r, tc.code, "", host.PhaseHost)
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
