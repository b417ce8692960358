package host_test

import (
	"context"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// TestAnAskingCallerGetsItsTurn: if the caller asks people, its exec or wait returns once the
// run waits for people alone. A decision that is there is not asked for again.
func TestAnAskingCallerGetsItsTurn(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	var calls []catalog.Invocation
	cfg := desk.config([]catalog.Tool{counted("echo", &calls)}, asks(policy.ApprovalRequest{}, "echo"))
	h := start(t, cfg)
	ctx := host.WithAskingCaller(context.Background())
	res := h.Exec(ctx, me, host.ExecInput{Code: `const both = await Promise.all([tools.echo({n: 1}), tools.echo({n: 2})]);
		return [...both, await tools.echo({n: 3})].map((x) => x.n)`})
	for _, asked := range []int{2, 1} {
		if res.Status != host.StatusWaiting || res.Reason != codemode.ReasonApproval {
			t.Fatalf("%+v", res)
		}
		list, err := h.Approvals().List(ctx, policy.Filter{RunID: res.RunID})
		if err != nil || len(list) != asked {
			t.Fatalf("%v, %d approvals, want %d", err, len(list), asked)
		}
		if again := h.Wait(ctx, me, res.RunID); again.Status != host.StatusWaiting {
			t.Fatalf("%+v", again)
		}
		for _, a := range list {
			decide(t, h, a.ID, policy.AllowOnce)
		}
		res = h.Wait(ctx, me, res.RunID)
	}
	if res.Status != host.StatusCompleted || string(res.Value) != "[1,2,3]" {
		t.Errorf("%+v", res)
	}
}
