package host_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
)

// ordersUpTo10 is a tool with a schema that counts its calls.
func ordersUpTo10(calls *[]catalog.Invocation) catalog.Tool {
	tool := counted("order", calls)
	tool.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":10}},"required":["n"]}`)
	return tool
}

// TestAnEditedInputIsWhatHappens, and nothing else; it must fit the tool's schema.
func TestAnEditedInputIsWhatHappens(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	var calls []catalog.Invocation
	h := start(t, desk.config([]catalog.Tool{ordersUpTo10(&calls)}, asks(policy.ApprovalRequest{}, "order")))
	done := execLater(h, host.ExecInput{Code: ordering})
	a := <-desk.asked
	if _, err := h.AllowEdited(t.Context(), a.ID, json.RawMessage(`{"n":11}`), "ada"); !errors.Is(err, policy.ErrInvalidAnswer) {
		t.Errorf("%v, want ErrInvalidAnswer", err)
	}
	if _, err := h.AllowEdited(t.Context(), a.ID, json.RawMessage(`{"n":7}`), "ada"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, <-done, `{"n":7}`)
	if len(calls) != 1 || string(calls[0].Input) != `{"n":7}` {
		t.Errorf("calls %+v", calls)
	}
	list, err := h.Approvals(t.Context(), policy.Filter{Resolved: true})
	if err != nil || len(list) != 1 || string(list[0].EditedInput) != `{"n":7}` || string(list[0].Input) != `{"n":1}` || list[0].By != "ada" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestHooksSeeAnEditedInput: they can block the call, and not change it.
func TestHooksSeeAnEditedInput(t *testing.T) {
	t.Parallel()
	blocks := func(v policy.Verdict) policy.Hook {
		hook := says("sevens", v, "order")
		hook.Only = func(c *policy.Call) bool { return string(c.Params) == `{"n":7}` }
		return hook
	}
	for name, tc := range map[string]struct {
		verdict policy.Verdict
		want    string
	}{
		"block":   {policy.Verdict{Block: true, Reason: "no sevens"}, `["The call of \"order\" was blocked before execution: no sevens","blocked","none"]`},
		"rewrite": {policy.Verdict{Params: json.RawMessage(`{"n":8}`)}, `["The call of \"order\" was blocked before execution, because the hook \"sevens\" failed.","hook_failed","none"]`},
		"ask":     {policy.Verdict{Approval: &policy.ApprovalRequest{}}, `{"n":7}`},
		"same":    {policy.Verdict{Params: json.RawMessage(`{"n":7}`)}, `{"n":7}`},
	} {
		t.Run(name, func(t *testing.T) {
			desk := newDesk()
			var calls []catalog.Invocation
			h := start(t, desk.config([]catalog.Tool{ordersUpTo10(&calls)}, asks(policy.ApprovalRequest{}, "order"), blocks(tc.verdict)))
			done := execLater(h, host.ExecInput{Code: ordering})
			if _, err := h.AllowEdited(t.Context(), (<-desk.asked).ID, json.RawMessage(`{"n":7}`), "ada"); err != nil {
				t.Fatal(err)
			}
			wantValue(t, <-done, tc.want)
		})
	}
}

// TestAnEditedInputSurvivesTheHost, decided while no host runs.
func TestAnEditedInputSurvivesTheHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	desk := newDesk()
	var calls []catalog.Invocation
	cfg := desk.config([]catalog.Tool{ordersUpTo10(&calls)}, asks(policy.ApprovalRequest{}, "order"))
	first := start(t, kept(t, dir, cfg))
	id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: ordering}), host.ReasonApproval)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	a := <-desk.asked
	_, s, err := stateDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.AllowEdited(t.Context(), s, a.ID, json.RawMessage(`{"n":7}`), "ada", a.Created); err != nil {
		t.Fatal(err)
	}
	second := start(t, kept(t, dir, cfg))
	wantValue(t, second.Wait(t.Context(), me, id), `{"n":7}`)
	if len(calls) != 1 || len(desk.asked) != 0 {
		t.Errorf("calls %+v, %d more questions", calls, len(desk.asked))
	}
}

// TestAProgramIsNotEdited by people: they allow or deny it.
func TestAProgramIsNotEdited(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config(nil, asks(policy.ApprovalRequest{}, policy.ExecTool.ID())))
	done := execLater(h, host.ExecInput{Code: `return 1`})
	a := <-desk.asked
	if _, err := h.AllowEdited(t.Context(), a.ID, json.RawMessage(`{"code":"return 2"}`), "ada"); !errors.Is(err, policy.ErrNotAllowed) {
		t.Errorf("%v, want ErrNotAllowed", err)
	}
	decide(t, h, a.ID, policy.Deny)
	if r := <-done; r.Status != host.StatusFailed {
		t.Errorf("got %s", show(r))
	}
}
