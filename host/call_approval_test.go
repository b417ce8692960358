package host_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// approvedBy returns a program that calls a tool of the plugin guard. The plugin's hook asks
// about a subject. The program returns what the plugin was told of the approval.
func approvedBy(subject string) string {
	return fmt.Sprintf(`return await tools.guard_approval({do: "ask about", trail: %q})`, subject)
}

func wantApproval(id, subject string, edited bool) string {
	return fmt.Sprintf(`{"ID":%q,"Subject":%q,"Edited":%v,"Remembered":false}`, id, subject, edited)
}

// wantRemembered is the approval of an earlier call.
func wantRemembered(id, subject string) string {
	return fmt.Sprintf(`{"ID":%q,"Subject":%q,"Edited":false,"Remembered":true}`, id, subject)
}

// TestAPluginIsToldWhatAllowedItsCall: the subject that its own hook asked about, and
// which approval answers it.
func TestAPluginIsToldWhatAllowedItsCall(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	cfg := desk.config(nil)
	cfg.Plugins.Dir = guardDir(t, "guard")
	h := start(t, cfg)
	wantValue(t, exec(h, `return await tools.guard_approval({})`), `null`)

	done := execLater(h, host.ExecInput{Code: approvedBy("rm a")})
	a := <-desk.asked
	decide(t, h, a.ID, policy.AllowOnce)
	wantValue(t, <-done, wantApproval(a.ID, "rm a", false))

	done = execLater(h, host.ExecInput{Code: approvedBy("rm b")})
	a = <-desk.asked
	decide(t, h, a.ID, policy.AllowAlways)
	wantValue(t, <-done, wantApproval(a.ID, "rm b", false))
	wantValue(t, exec(h, approvedBy("rm b")), wantRemembered(a.ID, "rm b"))

	done = execLater(h, host.ExecInput{Code: approvedBy("rm c")})
	a = <-desk.asked
	if _, err := h.Approvals().AllowEdited(t.Context(), a.ID, json.RawMessage(`{"do":"ask about","trail":"rm d"}`), "ada"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, <-done, wantApproval(a.ID, "rm d", true))
}

// TestAPluginIsNotToldOfWhatItDidNotAsk: the approval of another hook, or of its own hook
// about an input that a later one has rewritten, is no answer to it.
func TestAPluginIsNotToldOfWhatItDidNotAsk(t *testing.T) {
	t.Parallel()
	t.Run("another hook asks", func(t *testing.T) {
		desk := newDesk()
		cfg := desk.config(nil, asks(policy.ApprovalRequest{Subject: "rm a"}, "guard_approval"))
		cfg.Plugins.Dir = guardDir(t, "guard")
		h := start(t, cfg)
		done := execLater(h, host.ExecInput{Code: `return await tools.guard_approval({})`})
		decide(t, h, (<-desk.asked).ID, policy.AllowOnce)
		wantValue(t, <-done, `null`)
	})
	t.Run("a later hook rewrites", func(t *testing.T) {
		desk := newDesk()
		var calls []catalog.Invocation
		rewrites := says("second", policy.Verdict{Params: json.RawMessage(`{"n":2}`)}, "order")
		h := start(t, desk.config([]catalog.Tool{ordersUpTo10(&calls)}, asks(policy.ApprovalRequest{}, "order"), rewrites, says("third", policy.Verdict{Approval: &policy.ApprovalRequest{}}, "order")))
		done := execLater(h, host.ExecInput{Code: ordering})
		a := <-desk.asked
		decide(t, h, a.ID, policy.AllowOnce)
		wantValue(t, <-done, `{"n":2}`)
		want := []catalog.Approval{{Hook: "third", ID: a.ID}}
		if len(calls) != 1 || !slices.Equal(calls[0].Approvals, want) {
			t.Errorf("the tool was told %+v, want %+v", calls, want)
		}
	})
}

// TestWhatAllowedACallSurvivesTheHost, with the part that an earlier decision answers.
func TestWhatAllowedACallSurvivesTheHost(t *testing.T) {
	t.Parallel()
	dir, plugins := t.TempDir(), guardDir(t, "guard")
	desk := newDesk()
	rule := asks(policy.ApprovalRequest{Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}}, "guard_approval")
	cfg := desk.config(nil)
	cfg.Plugins.Dir = plugins

	first := start(t, kept(t, dir, cfg))
	done := execLater(first, host.ExecInput{Code: approvedBy("rm c")})
	always := <-desk.asked
	decide(t, first, always.ID, policy.AllowAlways)
	wantValue(t, <-done, wantApproval(always.ID, "rm c", false))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	cfg.Hooks = []policy.Hook{rule} // now a rule asks too
	second := start(t, kept(t, dir, cfg))
	id := wantWaiting(t, second.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: approvedBy("rm c")}), codemode.ReasonApproval)
	a := <-desk.asked
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := start(t, kept(t, dir, cfg))
	decide(t, third, a.ID, policy.AllowOnce)
	wantValue(t, third.Wait(t.Context(), me, id), wantRemembered(always.ID, "rm c"))
}
