package pipeline_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
)

// TestAFloodOfQuestionsHarmsNobodyElse: a program that asks, gives up and asks again does not fill the store,
// so that other sessions can ask.
func TestAFloodOfQuestionsHarmsNobodyElse(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		const most = 2 // pending
		var h *Host
		over := Does("over", func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
			time.Sleep(time.Second)
			pending, err := policy.Select(ctx, h.Approvals, policy.Filter{}, time.Now())
			return json.RawMessage(map[bool]string{true: "0", false: "1"}[len(pending) == 0]), err
		})
		asked := Does("asked", func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			<-h.Asked
			return nil, nil
		})
		s := guarded(Echo("echo"), asked, over)
		s.Approvals = &policy.MemoryApprovals{MaxPending: most}
		h = Start(t, s)
		WantValue(t, h.Run(func(g *Guest) any {
			left := ""
			for n := range 25 {
				p := g.Go("echo", N(n))
				g.Call("asked", nil)
				g.Cancel(p)
				left += string(g.Call("over", nil))
			}
			return left
		}), `"0000000000000000000000000"`)
		list, err := policy.Select(t.Context(), h.Approvals, policy.Filter{Resolved: true}, time.Now())
		if err != nil || len(list) > 10*most {
			t.Errorf("%v, %d approvals are kept, want at most %d", err, len(list), 10*most)
		}
		done := Later(func() *codemode.Result {
			return h.Exec(t.Context(), codemode.Session{AgentID: "another", SessionID: "another"}, run.Input{Code: Source(callsEcho)})
		})
		h.Decide((<-h.Asked).ID, policy.AllowOnce)
		WantValue(t, <-done, `{"n":1}`)
	})
}

// TestARunAsksPeopleSoOften: a run that asks more often than its limit, or faster than people can read, is
// denied, and told why.
func TestARunAsksPeopleSoOften(t *testing.T) {
	for name, tt := range map[string]struct {
		limit int64
		want  string
	}{
		"in all":  {5, `[5,"The call of \"echo\" was not made: it needs an approval, and its run has asked for 5, which is the limit (tools.codeMode.maxApprovals)."]`},
		"at once": {100, `[40,"The call of \"echo\" was not made: it needs an approval, and its run has asked for 40 within 10s, which is the limit; wait before you ask again."]`},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var h *Host
				asked := 0
				s := guarded(Echo("echo"))
				s.Settings.MaxApprovals = tt.limit
				s.Config = func(c *run.Config) {
					c.OnApproval = func(a *policy.Approval) {
						asked++
						h.Decide(a.ID, policy.AllowOnce)
					}
				}
				h = Start(t, s)
				WantValue(t, h.Run(func(g *Guest) any {
					for n := 0; ; n++ {
						if e := g.Go("echo", N(n)).Err(); e != nil {
							return []any{n, e.Message}
						}
					}
				}), tt.want)
				if asked > 40 {
					t.Errorf("people were asked %d times", asked)
				}
			})
		})
	}
}
