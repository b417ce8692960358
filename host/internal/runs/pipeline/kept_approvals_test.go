package pipeline_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
)

// kept has the runs and approvals of a setup outlive its hosts.
func kept(s Setup) Setup {
	s.Store, s.Approvals = NewKept(), &policy.MemoryApprovals{}
	return s
}

// decidesElsewhere enters a decision in another process, which has no run.
func decidesElsewhere(t *testing.T, s policy.Approvals, id string, d policy.Decision) {
	t.Helper()
	if _, err := policy.Decide(t.Context(), s, id, d, "bob", time.Now()); err != nil {
		t.Fatal(err)
	}
}

// TestPendingApprovalsSurviveTheHost, and are decided without a host, or by the next.
func TestPendingApprovalsSurviveTheHost(t *testing.T) {
	decides := func(d policy.Decision) func(*testing.T, policy.Approvals, string) {
		return func(t *testing.T, s policy.Approvals, id string) { decidesElsewhere(t, s, id, d) }
	}
	for name, tt := range map[string]struct {
		apart func(t *testing.T, s policy.Approvals, id string) // while there is no host
		after policy.Decision                                   // in the second host
		want  string
		calls int
	}{
		"allowed before": {decides(policy.AllowOnce), "", `{"n":1}`, 1},
		"denied before":  {decides(policy.Deny), "", fmt.Sprintf(deniedEcho, "a person decided so"), 0},
		"expired before": {func(t *testing.T, s policy.Approvals, _ string) {
			if err := s.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}, "", fmt.Sprintf(deniedEcho, "no one approved it in time"), 0},
		"allowed afterwards": {nil, policy.AllowOnce, `{"n":1}`, 1},
		"denied afterwards":  {nil, policy.Deny, fmt.Sprintf(deniedEcho, "a person decided so"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var calls Calls
				s := kept(guarded(calls.Tool("echo")))
				first := Start(t, s)
				id := WantWaiting(t, asked{first, t}.run(callsEcho), codemode.ReasonApproval)
				first.Shut()
				a := <-first.Asked
				if tt.apart != nil {
					tt.apart(t, s.Approvals, a.ID)
				}
				second := Start(t, s)
				if tt.after != "" {
					WantWaiting(t, second.Wait(run.WithAskingCaller(t.Context()), Me, id, 0), codemode.ReasonApproval)
					second.Decide(a.ID, tt.after)
				}
				r := second.Resume(id)
				WantValue(t, r, tt.want)
				if calls.Len() != tt.calls || len(second.Asked) != 0 || r.Telemetry.ApprovalCount != 1 {
					t.Errorf("%d calls, %d more questions, telemetry %+v", calls.Len(), len(second.Asked), r.Telemetry)
				}
			})
		})
	}
}

// TestAHeldProgramSurvivesTheHost: it has not started, so it starts in the next. There it leaves its
// worker while it waits, like any other.
func TestAHeldProgramSurvivesTheHost(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		s := kept(Setup{Tools: []catalog.Tool{slow.Tool("slow")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, policy.ExecTool.ID())}, MaxWorkers: 1})
		first := Start(t, s)
		id := WantWaiting(t, asked{first, t}.run(func(g *Guest) any { return g.Call("slow", nil) }), codemode.ReasonApproval)
		first.Shut()
		second := Start(t, s)
		second.Decide((<-first.Asked).ID, policy.AllowOnce)
		done := Later(func() *codemode.Result { return second.Resume(id) })
		<-slow.Entered
		other := second.Go(func(*Guest) any { return 1 })
		second.Decide((<-second.Asked).ID, policy.AllowOnce)
		WantValue(t, <-other, `1`)
		close(slow.Open)
		WantValue(t, <-done, `"through"`)
	})
}

// TestAnotherProcessDecides: the host that waits notices, while it waits.
func TestAnotherProcessDecides(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, guarded(Echo("echo")))
		done := h.Go(callsEcho)
		decidesElsewhere(t, h.Approvals, (<-h.Asked).ID, policy.AllowOnce)
		WantTook(t, 0, func() { WantValue(t, <-done, `{"n":1}`) })
	})
}

// TestAnApprovedCallInFlightAtTheEnd is treated like any other: no one is asked again, and it is made again
// only if that is harmless.
func TestAnApprovedCallInFlightAtTheEnd(t *testing.T) {
	for readOnly, want := range map[bool]string{false: `["unknown","interrupted"]`, true: `"through"`} {
		t.Run(fmt.Sprint("read-only ", readOnly), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				slow := NewGate()
				tool := slow.Tool("slow")
				tool.ReadOnly = readOnly
				s := kept(Setup{Tools: []catalog.Tool{tool}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, "slow")}})
				s.Config = func(c *run.Config) { c.DrainTimeout = time.Millisecond }
				first := Start(t, s)
				id := WantWaiting(t, asked{first, t}.run(func(g *Guest) any {
					p := g.Go("slow", nil)
					if e := p.Err(); e != nil {
						return []string{e.EffectStatus, e.Code}
					}
					return p.Value()
				}), codemode.ReasonApproval)
				first.Decide((<-first.Asked).ID, policy.AllowOnce)
				<-slow.Entered // pending host work continues while the run is suspended
				first.Shut()
				close(slow.Open)
				second := Start(t, s)
				WantValue(t, second.Resume(id), want)
				if len(second.Asked) != 0 {
					t.Error("a person was asked again")
				}
			})
		})
	}
}

// TestWhatAllowedACallSurvivesTheHost, with the part that an earlier decision answers.
func TestWhatAllowedACallSurvivesTheHost(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var calls Calls
		s := kept(Setup{Tools: []catalog.Tool{calls.Tool("echo")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{Subject: "rm c"}, "echo")}})
		first := Start(t, s)
		done := first.Go(callsEcho)
		always := <-first.Asked
		first.Decide(always.ID, policy.AllowAlways)
		WantValue(t, <-done, `{"n":1}`)
		first.Shut()

		rule := policy.ApprovalRequest{Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}}
		s.Hooks = append(s.Hooks, Says("rule", policy.Verdict{Approval: &rule}, "echo")) // now a rule asks too
		second := Start(t, s)
		id := WantWaiting(t, asked{second, t}.run(callsEcho), codemode.ReasonApproval)
		a := <-second.Asked
		second.Shut()
		third := Start(t, s)
		third.Decide(a.ID, policy.AllowOnce)
		WantValue(t, third.Resume(id), `{"n":1}`)
		wantApprovals(t, &calls, []catalog.Approval{{Hook: "guard", Subject: "rm c", ID: always.ID}},
			[]catalog.Approval{{Hook: "guard", Subject: "rm c", ID: always.ID, Remembered: true}, {Hook: "rule", ID: a.ID}})
	})
}

// wantApprovals holds the calls to have been told that these approvals have allowed them.
func wantApprovals(t *testing.T, calls *Calls, want ...[]catalog.Approval) {
	t.Helper()
	var got [][]catalog.Approval
	for _, c := range calls.All() {
		got = append(got, c.Approvals)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the tool was told %+v, want %+v", got, want)
	}
}
