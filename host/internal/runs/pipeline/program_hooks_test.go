package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
)

// returns is the source of a program that returns a value.
func returns(v any) string { return Source(func(*Guest) any { return v }) }

// TestProgramsCanNeedApproval: the outer call waits like any other, before anything of it runs.
func TestProgramsCanNeedApproval(t *testing.T) {
	for _, decision := range []policy.Decision{policy.AllowOnce, policy.Deny} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(decision, ", later ", later), func(t *testing.T) {
				InBubble(t, func(t *testing.T) {
					h := Start(t, Setup{Tools: []catalog.Tool{Echo("echo")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, policy.ExecTool.ID())}})
					var r *codemode.Result
					if later {
						r = asked{h, t}.run(callsEcho)
						id := WantWaiting(t, r, codemode.ReasonApproval)
						if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Method != "exec" {
							t.Errorf("got %s", Show(r))
						}
						h.Decide((<-h.Asked).ID, decision)
						r = h.Resume(id)
					} else {
						done := h.Go(callsEcho)
						a := <-h.Asked
						if a.Kind != policy.KindExec || a.ToolID != policy.ExecTool.ID() || !strings.Contains(string(a.Input), "program") {
							t.Errorf("asked %+v", a)
						}
						h.Decide(a.ID, decision)
						r = <-done
					}
					if decision == policy.AllowOnce {
						WantValue(t, r, `{"n":1}`)
						return
					}
					WantFailure(t, r, codemode.CodeInvalidInput, "", codemode.PhaseHost)
					if r.Dispatched || !strings.Contains(r.Error, "denied") {
						t.Errorf("got %s", Show(r))
					}
				})
			})
		}
	}
}

// TestAProgramIsNotEdited by people: they allow or deny it.
func TestAProgramIsNotEdited(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, policy.ExecTool.ID())}})
		done := h.Go(callsEcho)
		a := <-h.Asked
		if err := (asked{h, t}).edit(a.ID, `{"code":"return 2"}`); !errors.Is(err, policy.ErrNotAllowed) {
			t.Errorf("%v, want ErrNotAllowed", err)
		}
		h.Decide(a.ID, policy.Deny)
		WantFailure(t, <-done, codemode.CodeInvalidInput, "", codemode.PhaseHost)
	})
}

// TestHooksSeeNestedCallsAndThePrograms.
func TestHooksSeeNestedCallsAndThePrograms(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var seen []policy.Call
		h := Start(t, Setup{Tools: []catalog.Tool{Numbers("echo")}, Hooks: []policy.Hook{{Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
			seen = append(seen, *c)
			return policy.Verdict{}, nil
		}}}})
		code := Source(callsEcho)
		WantValue(t, h.Exec(t.Context(), Me, run.Input{Code: code, Language: "typescript", Title: "one"}), `{"n":1}`)
		id := seen[0].RunID
		want := []policy.Call{
			{
				Kind: policy.KindExec, InputKind: policy.InputTypeScript, ToolID: "quoin:code_mode:exec", Source: "quoin", Owner: "code_mode", ToolName: "exec",
				Params:  json.RawMessage(fmt.Sprintf(`{"code":%q,"command":%q,"language":"typescript","title":"one"}`, code, code)),
				Session: Me, RunID: id, CallID: "bridge:exec:0",
			},
			{
				Kind: policy.KindTool, ToolID: "quoin:core:echo", Source: "quoin", Owner: "core", ToolName: "echo", ReadOnly: true,
				Params: json.RawMessage(`{"n":1}`), Session: Me, RunID: id, CallID: "bridge:call:1",
			},
		}
		if d := cmp.Diff(want, seen); d != "" || !strings.HasPrefix(id, "run_") {
			t.Errorf("calls (-want +got):\n%s", d)
		}
	})
}

// TestHooksOnThePrograms: the outer call can be rewritten and blocked like any other, and code and command stay
// one thing.
func TestHooksOnThePrograms(t *testing.T) {
	rewrite := func(params string) policy.Verdict { return policy.Verdict{Params: json.RawMessage(params)} }
	const failed = `the hook "guard" failed`
	for name, tt := range map[string]struct {
		verdict policy.Verdict
		value   string
		code    codemode.Code
		say     string
	}{
		"code":             {rewrite(fmt.Sprintf(`{"code":%q}`, returns(2))), `2`, "", ""},
		"command":          {rewrite(fmt.Sprintf(`{"command":%q}`, returns(3))), `3`, "", ""},
		"both":             {rewrite(fmt.Sprintf(`{"code":%[1]q,"command":%[1]q}`, returns(4))), `4`, "", ""},
		"title":            {rewrite(`{"title":"six"}`), `1`, "", ""},
		"two programs":     {rewrite(`{"code":"return 4","command":"return 5"}`), "", codemode.CodeInternal, failed},
		"blank code":       {rewrite(`{"code":""}`), "", codemode.CodeInternal, failed},
		"blank command":    {rewrite(`{"command":" "}`), "", codemode.CodeInternal, failed},
		"unknown language": {rewrite(`{"language":"cobol"}`), "", codemode.CodeInternal, failed},
		"unknown field":    {rewrite(`{"timeout":5}`), "", codemode.CodeInternal, failed},
		"not a string":     {rewrite(`{"code":5}`), "", codemode.CodeInternal, failed},
		"block":            {policy.Verdict{Block: true, Reason: "no loops"}, "", codemode.CodeInvalidInput, "code mode exec was blocked before execution: no loops"},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{Hooks: []policy.Hook{Says("guard", tt.verdict, policy.ExecTool.ID())}})
				r := h.Exec(t.Context(), Me, run.Input{Code: returns(1)})
				if tt.code == "" {
					WantValue(t, r, tt.value)
					return
				}
				WantFailure(t, r, tt.code, "", codemode.PhaseHost)
				if !strings.Contains(r.Error, tt.say) || r.Dispatched {
					t.Errorf("got %s, want it to say %q", Show(r), tt.say)
				}
			})
		})
	}
}
