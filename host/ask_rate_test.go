package host_test

import (
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
)

// TestARunAsksPeopleSoOften: a run that asks more often than its limit, or faster
// than people can read, is denied, and told why.
func TestARunAsksPeopleSoOften(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limit int64
		want  string
	}{
		"in all":  {5, `[5,"The call of \"echo\" was not made: it needs an approval, and its run has asked for 5, which is the limit (tools.codeMode.maxApprovals)."]`},
		"at once": {100, `[40,"The call of \"echo\" was not made: it needs an approval, and its run has asked for 40 within 10s, which is the limit; wait before you ask again."]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h *host.Host
			asked := 0
			h = start(t, host.Config{
				Tools:    []catalog.Tool{echo("echo")},
				Hooks:    []policy.Hook{asks(policy.ApprovalRequest{}, "echo")},
				Settings: host.Settings{MaxApprovals: tc.limit},
				Approvals: host.ApprovalConfig{OnNew: func(a *policy.Approval) {
					asked++
					decide(t, h, a.ID, policy.AllowOnce)
				}},
			})
			wantValue(t, exec(h, `for (let n = 0;; n++) try { await tools.echo({n}) } catch (e) { return [n, e.message] }`), tc.want)
			if asked > 40 {
				t.Errorf("people were asked %d times", asked)
			}
		})
	}
}
