package host_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/quoinhq/quoin/host"
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

// TestAPluginIsNotToldOfWhatItDidNotAsk: the approval of another hook is no answer to it.
func TestAPluginIsNotToldOfWhatItDidNotAsk(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	cfg := desk.config(nil, asks(policy.ApprovalRequest{Subject: "rm a"}, "guard_approval"))
	cfg.Plugins.Dir = guardDir(t, "guard")
	h := start(t, cfg)
	done := execLater(h, host.ExecInput{Code: `return await tools.guard_approval({})`})
	decide(t, h, (<-desk.asked).ID, policy.AllowOnce)
	wantValue(t, <-done, `null`)
}
