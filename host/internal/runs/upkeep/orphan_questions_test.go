package upkeep_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
)

// identified is a store that can be told from others.
type identified struct{ *Kept }

func (identified) Identity() string                                { return "mine" }
func (identified) Reserve(context.Context, string) (func(), error) { return func() {}, nil }

// TestApprovalsOfSuspendedRunsAreNoOrphans, also while no host has the run; nor are the approvals of the runs
// of another store.
func TestApprovalsOfSuspendedRunsAreNoOrphans(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := Setup{Store: identified{NewKept()}, Approvals: &policy.MemoryApprovals{}, Tools: []catalog.Tool{Echo("echo")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, "echo")}}
		first := Start(t, s)
		WantWaiting(t, first.RunIn(run.WithAskingCaller(t.Context()), run.Input{}, func(g *Guest) any { return g.Call("echo", N(1)) }), codemode.ReasonApproval)
		first.Shut()
		stored := <-first.Asked
		add := func(digit, store string) {
			a := *stored
			a.ID, a.RunID, a.Store = "apr_"+strings.Repeat(digit, 32), "run_elsewhere", store
			if err := s.Approvals.Add(t.Context(), &a); err != nil {
				t.Fatal(err)
			}
		}
		add("0", "another")
		add("1", "mine") // an orphan
		if err := Start(t, s).Inspect().EndOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := policy.Select(t.Context(), s.Approvals, policy.Filter{}, time.Now())
		if err != nil || len(list) != 2 {
			t.Errorf("%v, pending %+v", err, list)
		}
	})
}
