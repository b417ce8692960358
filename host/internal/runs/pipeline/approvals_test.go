package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// callsEcho tells how a call of echo ends.
func callsEcho(g *Guest) any { return g.Try("echo", N(1)) }

const deniedEcho = `["The call of \"echo\" was denied: %s.","denied","none","quoin:core:echo"]`

func guarded(tools ...catalog.Tool) Setup {
	return Setup{Tools: tools, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, "echo")}}
}

// asking is an input of a caller that asks people itself.
func (a asked) run(p Program) *codemode.Result {
	return a.RunIn(run.WithAskingCaller(a.t.Context()), run.Input{}, p)
}

type asked struct {
	*Host
	t *testing.T
}

// TestAnApprovalIsASuspendedCall: without a decision the tool is not called and the program stands
// still; then it gets the answer, or the denial.
func TestAnApprovalIsASuspendedCall(t *testing.T) {
	for d, want := range map[policy.Decision]string{
		policy.AllowOnce: `{"n":1}`, policy.AllowAlways: `{"n":1}`, policy.Deny: fmt.Sprintf(deniedEcho, "a person decided so"),
	} {
		t.Run(string(d), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var calls Calls
				h := Start(t, Setup{Tools: []catalog.Tool{calls.Tool("echo")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{
					Title: "Echo?", Description: "It echoes.", Severity: policy.SeverityCritical,
				}, "echo")}})
				done := h.Go(callsEcho)
				a := <-h.Asked
				if a.Title != "Echo?" || a.Description != "It echoes." || a.Severity != policy.SeverityCritical || a.State != policy.StatePending ||
					a.ToolID != "quoin:core:echo" || a.CallID != "bridge:call:1" || string(a.Input) != `{"n":1}` || a.Session.AgentID != "agent" || a.Asked[0].Hook != "guard" {
					t.Errorf("asked %+v", a)
				}
				time.Sleep(3 * time.Second)
				if calls.Len() != 0 || len(done) != 0 {
					t.Fatal("the call did not wait")
				}
				h.Decide(a.ID, d)
				r := <-done
				WantValue(t, r, want)
				if allowed := d != policy.Deny; (calls.Len() == 1) != allowed {
					t.Errorf("%d calls after %s", calls.Len(), d)
				}
				if r.Telemetry.ApprovalCount != 1 || r.Telemetry.ApprovalWaitMillis != 3000 {
					t.Errorf("telemetry %+v", r.Telemetry)
				}
				h.Decide(a.ID, d) // once more changes nothing
			})
		})
	}
}

// TestWaitingForAPerson: the run is suspended with the reason, does not tell the model which
// question it is, and continues with the next wait.
func TestWaitingForAPerson(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, guarded(Echo("echo")))
		r := h.RunFor(time.Second, callsEcho)
		id := WantWaiting(t, r, codemode.ReasonApproval)
		if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Tool != "quoin:core:echo" || r.Telemetry.ApprovalWaitMillis != 1000 {
			t.Errorf("got %s", Show(r))
		}
		a := <-h.Asked
		if strings.Contains(Show(r), a.ID) {
			t.Error("the model was told the id of the approval")
		}
		WantTook(t, time.Minute, func() { WantWaiting(t, h.ResumeFor(id, time.Minute), codemode.ReasonApproval) })
		h.Decide(a.ID, policy.AllowOnce)
		WantValue(t, h.Resume(id), `{"n":1}`)
	})
}

// TestNoDecisionInTimeDenies, with the program still there or suspended.
func TestNoDecisionInTimeDenies(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		t.Run(fmt.Sprint("suspended ", suspended), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{Tools: []catalog.Tool{Echo("echo")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{Timeout: 5 * time.Second}, "echo")}})
				began := time.Now()
				var r *codemode.Result
				if suspended {
					r = h.Resume(WantWaiting(t, asked{h, t}.run(callsEcho), codemode.ReasonApproval))
				} else {
					r = h.Run(callsEcho)
				}
				WantValue(t, r, fmt.Sprintf(deniedEcho, "no one approved it in time"))
				if took := time.Since(began); took < 5*time.Second || took > 7*time.Second {
					t.Errorf("it was denied after %v", took)
				}
			})
		})
	}
}

// TestSeveralApprovalsAtOnce are decided one by one, in any order.
func TestSeveralApprovalsAtOnce(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, guarded(Echo("echo")))
		done := h.Go(func(g *Guest) any {
			var all []*Promise
			for n := range 6 {
				all = append(all, g.Go("echo", N(n)))
			}
			said := []string{}
			for _, p := range all {
				if e := p.Err(); e != nil {
					said = append(said, e.Code)
				} else {
					said = append(said, string(p.Value()))
				}
			}
			return said
		})
		pending := map[string]bool{}
		var list []*policy.Approval
		for range 6 {
			a := <-h.Asked
			pending[a.ID] = true
			list = append([]*policy.Approval{a}, list...)
		}
		for _, a := range list {
			d := policy.AllowOnce
			if strings.ContainsAny(string(a.Input), "25") {
				d = policy.Deny
			}
			h.Decide(a.ID, d)
		}
		WantValue(t, <-done, `["{\"n\":0}","{\"n\":1}","denied","{\"n\":3}","{\"n\":4}","denied"]`)
		if len(pending) != 6 {
			t.Errorf("%d ids for 6 calls", len(pending))
		}
	})
}

// TestWhatIsApprovedIsWhatHappens: the person sees the input as all hooks have left it, and hooks
// behind the one that asks still rewrite and block.
func TestWhatIsApprovedIsWhatHappens(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: []catalog.Tool{Numbers("echo"), Numbers("blocked")}, Hooks: []policy.Hook{
			Asks(policy.ApprovalRequest{Title: "Sure?"}, "echo", "blocked"),
			Says("rewrites", policy.Verdict{Params: json.RawMessage(`{"n":7}`)}, "echo"),
			Says("asks too", policy.Verdict{Approval: &policy.ApprovalRequest{Description: "Seven.", Allowed: []policy.Decision{policy.AllowOnce}}}, "echo"),
			Says("blocks", policy.Verdict{Block: true}, "blocked"),
		}})
		done := h.Go(func(g *Guest) any { return []any{g.Go("blocked", N(1)).Err().Code, g.Call("echo", N(1))} })
		a := <-h.Asked
		if string(a.Input) != `{"n":7}` || a.Title != "Sure?" || a.Description != "Seven." || len(a.Asked) != 2 || fmt.Sprint(a.Allowed) != "[allow-once deny]" {
			t.Errorf("asked %+v", a)
		}
		if _, err := policy.Decide(t.Context(), h.Approvals, a.ID, policy.AllowAlways, "", time.Now()); !errors.Is(err, policy.ErrNotAllowed) {
			t.Errorf("got %v", err)
		}
		h.Decide(a.ID, policy.AllowOnce)
		WantValue(t, <-done, `["blocked",{"n":7}]`)
	})
}

// TestAToolIsNotToldOfWhatWasRewritten: the approval of a hook about an input that a later one has rewritten is
// no answer to it.
func TestAToolIsNotToldOfWhatWasRewritten(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var calls Calls
		h := Start(t, Setup{Tools: []catalog.Tool{ordersUpTo10(&calls)}, Hooks: []policy.Hook{
			Asks(policy.ApprovalRequest{}, "order"), Says("second", policy.Verdict{Params: json.RawMessage(`{"n":2}`)}, "order"), Says("third", policy.Verdict{Approval: &policy.ApprovalRequest{}}, "order"),
		}})
		done := h.Go(orders)
		a := <-h.Asked
		h.Decide(a.ID, policy.AllowOnce)
		WantValue(t, <-done, `{"n":2}`)
		wantApprovals(t, &calls, []catalog.Approval{{Hook: "third", ID: a.ID}})
	})
}

// TestAllowAlwaysIsRemembered for the agent's session and the tool, until it is revoked; and OnApproval may
// decide itself.
func TestAllowAlwaysIsRemembered(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var h *Host
		asked := 0
		h = Start(t, Setup{
			Tools: []catalog.Tool{Echo("echo"), Echo("other")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, "echo", "other")},
			Config: func(c *run.Config) {
				c.OnApproval = func(a *policy.Approval) {
					asked++
					h.Decide(a.ID, policy.AllowAlways)
				}
			},
		})
		wantAsked := func(s codemode.Session, tool string, n, want int) {
			t.Helper()
			time.Sleep(time.Second) // grants have an order
			WantValue(t, h.Exec(t.Context(), s, run.Input{Code: Source(func(g *Guest) any { return g.Call(tool, N(n)) })}), fmt.Sprintf(`{"n":%d}`, n))
			if asked != want {
				t.Errorf("%d questions so far, want %d", asked, want)
			}
		}
		wantAsked(Me, "echo", 1, 1)
		wantAsked(Me, "echo", 1, 1)
		turn, foreign := Me, Me
		turn.TurnID, turn.SessionID, foreign.SessionKey = "next", "next", "another"
		wantAsked(turn, "echo", 2, 1)
		wantAsked(Me, "other", 1, 2)
		wantAsked(foreign, "echo", 1, 3)
		grants, err := policy.LiveGrants(t.Context(), h.Approvals, time.Now())
		if err != nil || len(grants) != 3 || grants[0].By != "alice" {
			t.Fatalf("%v, grants %+v", err, grants)
		}
		for i, want := range []error{nil, policy.ErrNotFound} {
			if err := h.Approvals.Forget(t.Context(), grants[0].ID); !errors.Is(err, want) {
				t.Errorf("revoked %d times: %v", i+1, err)
			}
		}
		wantAsked(Me, "echo", 1, 4)
	})
}

// TestAnAskingCallerGetsItsTurn: if the caller asks people, its exec or wait returns once the run waits for
// people alone. A decision that is there is not asked for again.
func TestAnAskingCallerGetsItsTurn(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, guarded(Echo("echo")))
		wait := func(id string) *codemode.Result { return h.Wait(run.WithAskingCaller(t.Context()), Me, id, 0) }
		r := asked{h, t}.run(func(g *Guest) any {
			one, two := g.Go("echo", N(1)), g.Go("echo", N(2))
			return []any{one.Value(), two.Value(), g.Call("echo", N(3))}
		})
		for _, asked := range []int{2, 1} {
			id := WantWaiting(t, r, codemode.ReasonApproval)
			list, err := policy.Select(t.Context(), h.Approvals, policy.Filter{RunID: id}, time.Now())
			if err != nil || len(list) != asked {
				t.Fatalf("%v, %d approvals, want %d", err, len(list), asked)
			}
			WantWaiting(t, wait(id), codemode.ReasonApproval)
			for _, a := range list {
				h.Decide(a.ID, policy.AllowOnce)
			}
			r = wait(id)
		}
		WantValue(t, r, `[{"n":1},{"n":2},{"n":3}]`)
	})
}

// slowApprovals is a store with a test that acts before an approval is added.
type slowApprovals struct {
	policy.MemoryApprovals
	add func()
}

func (s *slowApprovals) Add(ctx context.Context, a *policy.Approval) error {
	s.add()
	return s.MemoryApprovals.Add(ctx, a)
}

// TestAQuestionThatComesAfterTheEnd of its run is cancelled at once: the run ended while the question was
// being stored.
func TestAQuestionThatComesAfterTheEnd(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		storing, ended := make(chan struct{}), make(chan struct{})
		s := guarded(Echo("echo"), NewGate().Tool("never"))
		s.Approvals = &slowApprovals{add: func() { close(storing); <-ended }}
		h := Start(t, s)
		ctx, abort := context.WithCancel(t.Context())
		done := Later(func() *codemode.Result {
			return h.RunIn(ctx, run.Input{}, func(g *Guest) any {
				g.Go("echo", N(1))
				return g.Call("never", nil)
			})
		})
		<-storing
		abort()
		WantFailure(t, <-done, codemode.CodeAborted, "", codemode.PhaseHost)
		close(ended)
		synctest.Wait()
		list, err := policy.Select(t.Context(), h.Approvals, policy.Filter{Resolved: true}, time.Now())
		if err != nil || len(list) != 1 || list[0].State != policy.StateCancelled {
			t.Errorf("%v, approvals %+v; want one that is cancelled", err, list)
		}
	})
}

// TestAbortCancelsApprovals, of an active run and of a suspended one.
func TestAbortCancelsApprovals(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Host){
		"of a suspended run": func(t *testing.T, h *Host) {
			id := WantWaiting(t, asked{h, t}.run(callsEcho), codemode.ReasonApproval)
			WantFailure(t, h.Abort(t.Context(), Me, id), codemode.CodeAborted, "", codemode.PhaseHost)
		},
		"of an active one": func(t *testing.T, h *Host) {
			ctx, cancel := context.WithCancel(t.Context())
			done := Later(func() *codemode.Result { return h.RunIn(ctx, run.Input{}, callsEcho) })
			synctest.Wait()
			cancel()
			WantFailure(t, <-done, codemode.CodeAborted, "", codemode.PhaseHost)
		},
		"at the end of the session": func(t *testing.T, h *Host) {
			WantWaiting(t, asked{h, t}.run(callsEcho), codemode.ReasonApproval)
			if n, err := h.EndSession(t.Context(), Me); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, guarded(Echo("echo")))
				end(t, h)
				if _, err := policy.Decide(t.Context(), h.Approvals, (<-h.Asked).ID, policy.AllowOnce, "", time.Now()); !errors.Is(err, policy.ErrCancelled) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestTheGuestGivesItsWorkerBackWhileItWaits: with one worker, other cells run.
func TestTheGuestGivesItsWorkerBackWhileItWaits(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := guarded(Echo("echo"))
		s.MaxWorkers = 1
		h := Start(t, s)
		done := h.Go(callsEcho)
		a := <-h.Asked
		WantValue(t, h.Run(func(*Guest) any { return 2 }), `2`)
		h.Decide(a.ID, policy.AllowOnce)
		WantValue(t, <-done, `{"n":1}`)
	})
}

// fullApprovals is a store that has no room.
type fullApprovals struct{ policy.MemoryApprovals }

func (*fullApprovals) Add(context.Context, *policy.Approval) error { return policy.ErrFull }

// TestAFullStoreDenies: no one can be asked, so nothing may happen.
func TestAFullStoreDenies(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := guarded(Echo("echo"))
		s.Approvals = &fullApprovals{}
		WantValue(t, Start(t, s).Run(callsEcho), fmt.Sprintf(deniedEcho, "it needs an approval, and no one could be asked"))
	})
}

// alteredApprovals shows approvals changed.
type alteredApprovals struct {
	policy.Approvals
	alter func(*policy.Approval)
}

func (s alteredApprovals) Get(ctx context.Context, id string) (*policy.Approval, error) {
	a, err := s.Approvals.Get(ctx, id)
	if err == nil {
		s.alter(a)
	}
	return a, err
}

// TestAnApprovalIsOfOneCall: what a person has allowed is this call of this tool in this run with this
// input, and no other.
func TestAnApprovalIsOfOneCall(t *testing.T) {
	for name, alter := range map[string]func(*policy.Approval){
		"another input": func(a *policy.Approval) { a.InputSHA256 = "00" + a.InputSHA256[2:] },
		"another call":  func(a *policy.Approval) { a.CallID += "1" },
		"another tool":  func(a *policy.Approval) { a.ToolID += "s" },
		"another run":   func(a *policy.Approval) { a.RunID += "0" },
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var calls Calls
				s := guarded(calls.Tool("echo"))
				s.Approvals = alteredApprovals{&policy.MemoryApprovals{}, alter}
				h := Start(t, s)
				done := h.Go(callsEcho)
				a := <-h.Asked
				if _, err := policy.Decide(t.Context(), h.Approvals, a.ID, policy.AllowOnce, "alice", time.Now()); err != nil {
					t.Fatal(err)
				}
				WantValue(t, <-done, fmt.Sprintf(deniedEcho, "it is not the call that was approved"))
				if calls.Len() != 0 {
					t.Error("the tool was called")
				}
			})
		})
	}
}

// TestApprovedInputIsCheckedAgain: people take their time, and the tool may take something else by then.
func TestApprovedInputIsCheckedAgain(t *testing.T) {
	ask := policy.Verdict{Approval: &policy.ApprovalRequest{}}
	for name, tt := range map[string]struct {
		restarts bool
		verdict  policy.Verdict
		input    any
	}{
		"in the same host": {false, ask, N(1)},
		"in the next host": {true, ask, N(1)},
		// What the program gives is good for either version of the tool.
		"as a hook has rewritten it": {true, policy.Verdict{Approval: ask.Approval, Params: json.RawMessage(`{"n":1}`)}, struct{}{}},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var calls Calls
				version := func(schema string) catalog.Tool {
					tool := calls.Tool("echo")
					tool.Parameters = json.RawMessage(schema)
					return tool
				}
				s := kept(Setup{Tools: []catalog.Tool{version(`{"type":"object","properties":{"n":{"type":"number"}}}`)}, Hooks: []policy.Hook{Says("guard", tt.verdict, "echo")}})
				now := version(`{"type":"object","properties":{"n":{"type":"string"}}}`)
				h := Start(t, s)
				id := WantWaiting(t, asked{h, t}.run(func(g *Guest) any { return g.Go("echo", tt.input).Err().Code }), codemode.ReasonApproval)
				a := <-h.Asked
				if tt.restarts {
					h.Shut()
					s.Tools = []catalog.Tool{now}
					h = Start(t, s)
				} else {
					h.Replace(now)
					WantWaiting(t, h.Wait(run.WithAskingCaller(t.Context()), Me, id, 0), codemode.ReasonApproval)
				}
				h.Decide(a.ID, policy.AllowOnce)
				WantValue(t, h.Resume(id), `"catalog_changed"`)
				if calls.Len() != 0 {
					t.Error("the tool was called with what it does not take")
				}
			})
		})
	}
}

// TestAnApprovedCallOfAnAbortedRunIsNotMade: a run that is aborted between the decision and the call
// makes no call, even of a tool that ignores its context.
func TestAnApprovedCallOfAnAbortedRunIsNotMade(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var calls Calls
		store := &Seam{Store: NewKept()}
		s := guarded(calls.Tool("echo"))
		s.Store = store
		h := Start(t, s)
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			return g.Call("echo", N(1))
		}), codemode.ReasonYield)
		ctx, cancel := context.WithCancel(t.Context())
		store.PutCalls = func(ctx context.Context, c runstore.Claim, generation uint64, list []runstore.Call) error {
			for _, call := range list {
				if call.State == runstore.CallInFlight && call.Approval != "" {
					cancel()
					h.Inspect().Aborted(id)
				}
			}
			return c.PutCalls(ctx, generation, list)
		}
		done := Later(func() *codemode.Result { return h.Wait(ctx, Me, id, 0) })
		h.Decide((<-h.Asked).ID, policy.AllowOnce)
		WantFailure(t, <-done, codemode.CodeAborted, "", codemode.PhaseHost)
		h.Shut()
		if n := calls.Len(); n != 0 {
			t.Errorf("the tool was called %d times by a run that had been aborted", n)
		}
	})
}

// ordersUpTo10 is a tool with a schema.
func ordersUpTo10(calls *Calls) catalog.Tool {
	tool := calls.Tool("order")
	tool.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":10}},"required":["n"]}`)
	return tool
}

func (a asked) edit(id, input string) error {
	approval, err := policy.AllowEdited(a.t.Context(), a.Approvals, id, json.RawMessage(input), "ada", time.Now())
	if err == nil {
		a.Decided(a.t.Context(), approval.RunID)
	}
	return err
}

// TestAnEditedInputIsWhatHappens, and nothing else; it must fit the tool's schema. It survives the host.
func TestAnEditedInputIsWhatHappens(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts ", restarts), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var calls Calls
				s := Setup{Store: NewKept(), Approvals: &policy.MemoryApprovals{}, Tools: []catalog.Tool{ordersUpTo10(&calls)}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, "order")}}
				h := Start(t, s)
				id := WantWaiting(t, asked{h, t}.run(func(g *Guest) any { return g.Call("order", N(1)) }), codemode.ReasonApproval)
				a := <-h.Asked
				if restarts {
					h.Shut()
					h = Start(t, s)
				}
				if err := (asked{h, t}).edit(a.ID, `{"n":11}`); !errors.Is(err, policy.ErrInvalidAnswer) {
					t.Errorf("%v, want ErrInvalidAnswer", err)
				}
				if err := (asked{h, t}).edit(a.ID, `{"n":7}`); err != nil {
					t.Fatal(err)
				}
				WantValue(t, h.Resume(id), `{"n":7}`)
				if list := calls.All(); len(list) != 1 || string(list[0].Input) != `{"n":7}` || len(h.Asked) != 0 {
					t.Errorf("calls %+v, %d more questions", list, len(h.Asked))
				}
			})
		})
	}
}

// TestHooksSeeAnEditedInput: they can block the call, and not change it.
func TestHooksSeeAnEditedInput(t *testing.T) {
	for name, tt := range map[string]struct {
		verdict policy.Verdict
		want    string
	}{
		"block":   {policy.Verdict{Block: true, Reason: "no sevens"}, `["The call of \"order\" was blocked before execution: no sevens","blocked","none","quoin:core:order"]`},
		"rewrite": {policy.Verdict{Params: json.RawMessage(`{"n":8}`)}, `["The call of \"order\" was blocked before execution, because the hook \"sevens\" failed.","hook_failed","none","quoin:core:order"]`},
		"ask":     {policy.Verdict{Approval: &policy.ApprovalRequest{}}, `{"n":7}`},
		"same":    {policy.Verdict{Params: json.RawMessage(`{"n":7}`)}, `{"n":7}`},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var calls Calls
				sevens := Says("sevens", tt.verdict, "order")
				sevens.Only = func(c *policy.Call) bool { return string(c.Params) == `{"n":7}` }
				h := Start(t, Setup{Tools: []catalog.Tool{ordersUpTo10(&calls)}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, "order"), sevens}})
				done := h.Go(func(g *Guest) any { return g.Try("order", N(1)) })
				if err := (asked{h, t}).edit((<-h.Asked).ID, `{"n":7}`); err != nil {
					t.Fatal(err)
				}
				WantValue(t, <-done, tt.want)
			})
		})
	}
}

// TestHooksBlock: a blocked call never reaches its tool, and the program is told so and can
// continue.
func TestHooksBlock(t *testing.T) {
	const failed = `["The call of \"echo\" was blocked before execution, because the hook \"guard\" failed.","hook_failed","none","quoin:core:echo"]`
	before := func(f func(context.Context, *policy.Call) (policy.Verdict, error)) policy.Hook {
		return policy.Hook{Name: "guard", Tools: []string{"echo"}, Before: f}
	}
	for name, tt := range map[string]struct {
		hook policy.Hook
		want string
	}{
		"reason":    {Says("guard", policy.Verdict{Block: true, Reason: "not on Sundays"}, "echo"), `["The call of \"echo\" was blocked before execution: not on Sundays","blocked","none","quoin:core:echo"]`},
		"no reason": {Says("guard", policy.Verdict{Block: true}, "echo"), `["The call of \"echo\" was blocked before execution by the hook \"guard\".","blocked","none","quoin:core:echo"]`},
		"error": {before(func(context.Context, *policy.Call) (policy.Verdict, error) {
			return policy.Verdict{}, errors.New("the secret is 42")
		}), failed},
		"panic":                     {before(func(context.Context, *policy.Call) (policy.Verdict, error) { panic("oops") }), failed},
		"rewrite that does not fit": {Says("guard", policy.Verdict{Params: json.RawMessage(`{"n":"x"}`)}, "echo"), failed},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var calls Calls
				tool := calls.Tool("echo")
				tool.Parameters = Numbers("echo").Parameters
				h := Start(t, Setup{Tools: []catalog.Tool{tool}, Hooks: []policy.Hook{tt.hook}})
				WantValue(t, h.Run(callsEcho), tt.want)
				r := h.Run(func(g *Guest) any { return g.Call("echo", N(1)) })
				WantFailure(t, r, codemode.CodeInternal, codemode.ReasonNestedTool, codemode.PhaseBridge)
				if calls.Len() != 0 || r.Dispatched {
					t.Error("a blocked call reached its tool")
				}
			})
		})
	}
}

// TestHooksRewriteNestedCalls, one after the other.
func TestHooksRewriteNestedCalls(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: []catalog.Tool{Numbers("echo")}, Hooks: []policy.Hook{
			Says("two", policy.Verdict{Params: json.RawMessage(`{"n":2}`)}, "echo"),
			{Name: "one more", Tools: []string{"echo"}, Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
				var in struct{ N int }
				err := json.Unmarshal(c.Params, &in)
				return policy.Verdict{Params: json.RawMessage(fmt.Sprintf(`{"n":%d}`, in.N+1))}, err
			}},
		}})
		WantValue(t, h.Run(func(g *Guest) any { return g.Call("echo", N(1)) }), `{"n":3}`)
	})
}

// TestAfterHooksReplaceResults, and one that fails withholds the result.
func TestAfterHooksReplaceResults(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var outcomes []string
		after := func(name string, answer json.RawMessage, err error, tools ...string) policy.Hook {
			return policy.Hook{Name: name, Tools: tools, After: func(context.Context, *policy.Call, policy.Outcome) (json.RawMessage, error) { return answer, err }}
		}
		h := Start(t, Setup{Tools: []catalog.Tool{Numbers("echo"), Numbers("withheld"), Failing("fails", "no")}, Hooks: []policy.Hook{
			{Name: "log", After: func(_ context.Context, c *policy.Call, o policy.Outcome) (json.RawMessage, error) {
				outcomes = append(outcomes, fmt.Sprintf("%s %s %s%s %s", c.ToolName, o.Status, o.Value, o.Message, o.Code))
				return nil, nil
			}},
			after("redact", json.RawMessage(`"***"`), nil, "echo"), after("broken", nil, errors.New("out of order"), "withheld"),
		}})
		WantValue(t, h.Run(func(g *Guest) any {
			withheld, fails := g.Go("withheld", N(1)).Err(), g.Go("fails", N(1)).Err()
			return []any{g.Call("echo", N(1)), withheld.Message, withheld.Code, fails.Message, fails.Code}
		}), `["***","\"withheld\" was called, but its result is withheld, because the hook \"broken\" failed.","hook_failed","no","tool_error"]`)
		if got := strings.Join(outcomes, "; "); !strings.Contains(got, `fails error no tool_error`) || !strings.Contains(got, `echo ok "***" `) || strings.Contains(got, "withheld") {
			t.Errorf("outcomes %s", got)
		}
	})
}
