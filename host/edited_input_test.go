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

// TestAProgramIsNotEdited by people: they allow or deny it.
func TestAProgramIsNotEdited(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config(nil, asks(policy.ApprovalRequest{}, policy.ExecTool.ID())))
	done := execLater(h, host.ExecInput{Code: `return 1`})
	a := <-desk.asked
	if _, err := h.Approvals().AllowEdited(t.Context(), a.ID, json.RawMessage(`{"code":"return 2"}`), "ada"); !errors.Is(err, policy.ErrNotAllowed) {
		t.Errorf("%v, want ErrNotAllowed", err)
	}
	decide(t, h, a.ID, policy.Deny)
	if r := <-done; r.Status != host.StatusFailed {
		t.Errorf("got %s", show(r))
	}
}
