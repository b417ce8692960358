package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
)

// asks is a hook that asks for approval of the calls of some tools.
func asks(r policy.ApprovalRequest, tools ...string) policy.Hook {
	return says("guard", policy.Verdict{Approval: &r}, tools...)
}

// desk collects the questions of a host.
type desk struct{ asked chan *policy.Approval }

func newDesk() *desk { return &desk{asked: make(chan *policy.Approval, 1000)} }

func (d *desk) config(tools []catalog.Tool, hooks ...policy.Hook) host.Config {
	return host.Config{Tools: tools, Hooks: hooks, Approvals: host.ApprovalConfig{OnNew: func(a *policy.Approval) { d.asked <- a }}}
}

// counted is a tool that counts its calls.
func counted(name string, calls *[]catalog.Invocation) catalog.Tool {
	var mu sync.Mutex
	return catalog.Tool{Name: name, Description: "Counts.", Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		*calls = append(*calls, c)
		return c.Input, nil
	}}
}

func decide(t testing.TB, h *host.Host, id string, d policy.Decision) {
	t.Helper()
	if _, err := h.Decide(context.Background(), id, d, "alice"); err != nil {
		t.Fatal(err)
	}
}

// execLater runs a cell on another goroutine.
func execLater(h *host.Host, in host.ExecInput) <-chan *host.Result {
	done := make(chan *host.Result, 1)
	go func() { done <- h.Exec(context.Background(), me, in) }()
	return done
}

// TestAnApprovalIsASuspendedCall: without a decision the tool is not called
// and the program stands still; then it gets the answer, or the denial.
func TestAnApprovalIsASuspendedCall(t *testing.T) {
	t.Parallel()
	for d, want := range map[policy.Decision]string{
		policy.AllowOnce:   `{"n":1}`,
		policy.AllowAlways: `{"n":1}`,
		policy.Deny:        `["The call of \"echo\" was denied: a person decided so.","denied","none","quoin:core:echo"]`,
	} {
		t.Run(string(d), func(t *testing.T) {
			desk := newDesk()
			var calls []catalog.Invocation
			h := start(t, desk.config([]catalog.Tool{counted("echo", &calls)}, asks(policy.ApprovalRequest{
				Title: "Echo?", Description: "It echoes.", Severity: policy.SeverityCritical,
			}, "echo")))
			done := execLater(h, host.ExecInput{Code: refused})
			a := <-desk.asked
			if a.Title != "Echo?" || a.Description != "It echoes." || a.Severity != policy.SeverityCritical || a.State != policy.StatePending ||
				a.ToolID != "quoin:core:echo" || a.CallID != "bridge:call:1" || string(a.Input) != `{"n":1}` || a.Session.AgentID != "agent" || a.Asked[0].Hook != "guard" {
				t.Errorf("asked %+v", a)
			}
			list, err := h.Approvals(t.Context(), policy.Filter{})
			if err != nil || len(list) != 1 || list[0].ID != a.ID || len(calls) != 0 {
				t.Fatalf("%v, pending %+v, %d calls", err, list, len(calls))
			}
			decide(t, h, a.ID, d)
			r := <-done
			wantValue(t, r, want)
			if allowed := d != policy.Deny; (len(calls) == 1) != allowed {
				t.Errorf("%d calls after %s", len(calls), d)
			}
			if r.Telemetry.ApprovalCount != 1 || r.Telemetry.ApprovalWaitMillis <= 0 {
				t.Errorf("telemetry %+v", r.Telemetry)
			}
			decide(t, h, a.ID, d) // once more changes nothing
			if list, err := h.Approvals(t.Context(), policy.Filter{}); err != nil || len(list) != 0 {
				t.Errorf("%v, %d pending", err, len(list))
			}
		})
	}
}

// TestWaitingForAPerson: after one more full timeout for people the run is
// suspended, with the reason, and goes on with the next wait.
func TestWaitingForAPerson(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo")))
	r := h.Exec(t.Context(), me, host.ExecInput{Wait: soon, Code: `return (await tools.echo({n: 1})).n`})
	for r.Reason == host.ReasonPendingTools { // on a busy machine it takes longer to get there
		r = h.WaitFor(t.Context(), me, r.RunID, soon)
	}
	id := wantWaiting(t, r, host.ReasonApproval)
	if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Tool != "quoin:core:echo" || r.Telemetry.ApprovalWaitMillis < 150 { // without the pause it would be less than 140
		t.Errorf("got %s", show(r))
	}
	a := <-desk.asked
	if strings.Contains(show(r), a.ID) {
		t.Error("the model was told the id of the approval")
	}
	r = h.WaitFor(t.Context(), me, id, soon)
	wantWaiting(t, r, host.ReasonApproval)
	decide(t, h, a.ID, policy.AllowOnce)
	wantValue(t, h.Wait(t.Context(), me, id), `1`)
}

// TestNoDecisionInTimeDenies, with the program still there or suspended.
func TestNoDecisionInTimeDenies(t *testing.T) {
	t.Parallel()
	h := start(t, newDesk().config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{Timeout: 3 * soon}, "echo")))
	want := `["The call of \"echo\" was denied: no one approved it in time.","denied","none","quoin:core:echo"]`
	wantValue(t, exec(h, refused), want)
	r := h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: refused})
	wantValue(t, h.Wait(t.Context(), me, wantWaiting(t, r, host.ReasonApproval)), want)
}

// TestTheProgramCannotSkipAnApproval: whatever it tries, the tool is not called
// and the run does not complete before someone has decided.
func TestTheProgramCannotSkipAnApproval(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"catch":       `try { await tools.danger() } catch (e) { return e.code } return "called"`,
		"not awaited": `tools.danger().catch(() => {}); return "denied"`,
		"race":        `return await Promise.race([tools.danger(), new Promise(r => setTimeout(() => r("timer"), 1))]).catch(e => e.code).then(() => "denied")`,
		"any":         `return await Promise.any([tools.danger(), tools.echo({})]).then(() => "denied")`,
		"by id":       `try { await tools.call("quoin:core:danger", {}) } catch (e) { return e.code }`,
		"forged ids":  `try { await tools.danger({approval: "apr_00000000000000000000000000000000", approved: true, id: "bridge:call:1"}) } catch (e) { return e.code }`,
		"thenable":    `Object.prototype.then = undefined; Promise.prototype.catch = () => "x"; try { await tools.danger() } catch (e) { return e.code }`,
		"finally":     `try { try { await tools.danger() } finally { text("finally") } } catch (e) { return e.code }`,
		"many": `const said = await Promise.allSettled(Array.from({length: 20}, (_, n) => tools.danger({n})));
return said.every(s => s.status === "rejected" && s.reason.code === "denied") ? "denied" : said`,
	} {
		t.Run(name, func(t *testing.T) {
			desk := newDesk()
			danger := catalog.Tool{Name: "danger", Description: "Must not be called.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
				t.Error("called without approval")
				return nil, nil
			}}
			h := start(t, desk.config([]catalog.Tool{danger, echo("echo")}, asks(policy.ApprovalRequest{}, "danger")))
			done := execLater(h, host.ExecInput{Code: code})
			for {
				select {
				case a := <-desk.asked:
					select {
					case r := <-done:
						t.Fatalf("the run ended before the decision: %s", show(r))
					default:
					}
					decide(t, h, a.ID, policy.Deny)
					continue
				case r := <-done:
					wantValue(t, r, `"denied"`)
				}
				break
			}
		})
	}
}

// TestSeveralApprovalsAtOnce are decided one by one, in any order.
func TestSeveralApprovalsAtOnce(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo")))
	done := execLater(h, host.ExecInput{Code: `
return (await Promise.allSettled([0, 1, 2, 3, 4, 5].map(n => tools.echo({n})))).map(s => s.value?.n ?? s.reason.code)`})
	pending := make([]*policy.Approval, 6)
	for i := range pending {
		pending[i] = <-desk.asked
	}
	seen := map[string]bool{}
	for i := len(pending) - 1; i >= 0; i-- {
		a := pending[i]
		seen[a.ID] = true
		d := policy.AllowOnce
		if strings.Contains(string(a.Input), "2") || strings.Contains(string(a.Input), "5") {
			d = policy.Deny
		}
		decide(t, h, a.ID, d)
	}
	wantValue(t, <-done, `[0,1,"denied",3,4,"denied"]`)
	if len(seen) != 6 {
		t.Errorf("%d ids for 6 calls", len(seen))
	}
}

// TestAllowAlwaysIsRemembered for the agent's session and the tool, until it is
// revoked; and OnApproval may decide itself.
func TestAllowAlwaysIsRemembered(t *testing.T) {
	t.Parallel()
	var h *host.Host
	asked := 0
	cfg := host.Config{Tools: []catalog.Tool{echo("echo"), echo("other")}, Hooks: []policy.Hook{asks(policy.ApprovalRequest{}, "echo", "other")}}
	cfg.Approvals.OnNew = func(a *policy.Approval) {
		asked++
		decide(t, h, a.ID, policy.AllowAlways)
	}
	h = start(t, cfg)
	run := func(s host.Session, code string, want int) {
		t.Helper()
		wantValue(t, h.Exec(t.Context(), s, host.ExecInput{Code: code}), `true`)
		if asked != want {
			t.Errorf("%d questions so far, want %d", asked, want)
		}
	}
	run(me, `await tools.echo(); await tools.echo(); return true`, 1)
	turn := me
	turn.TurnID, turn.SessionID = "next", "next"
	run(turn, `await tools.echo({n: 2}); return true`, 1)
	run(me, `await tools.other(); return true`, 2)
	foreign := me
	foreign.SessionKey = "another"
	run(foreign, `await tools.echo(); return true`, 3)
	grants, err := h.Grants(t.Context())
	if err != nil || len(grants) != 3 || grants[0].By != "alice" {
		t.Fatalf("%v, grants %+v", err, grants)
	}
	if err := h.RevokeGrant(t.Context(), grants[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := h.RevokeGrant(t.Context(), grants[0].ID); !errors.Is(err, policy.ErrNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
	run(me, `await tools.echo(); return true`, 4)
}

// TestWhatIsApprovedIsWhatHappens: the person sees the input as all hooks have left
// it, and hooks behind the one that asks still rewrite and block.
func TestWhatIsApprovedIsWhatHappens(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config([]catalog.Tool{numbers("echo"), numbers("blocked")},
		asks(policy.ApprovalRequest{Title: "Sure?"}, "echo", "blocked"),
		says("rewrites", policy.Verdict{Params: json.RawMessage(`{"n":7}`)}, "echo"),
		says("asks too", policy.Verdict{Approval: &policy.ApprovalRequest{Description: "Seven.", Allowed: []policy.Decision{policy.AllowOnce}}}, "echo"),
		says("blocks", policy.Verdict{Block: true}, "blocked")))
	done := execLater(h, host.ExecInput{Code: `
let code; try { await tools.blocked({n: 1}) } catch (e) { code = e.code }
return [(await tools.echo({n: 1})).n, code]`})
	a := <-desk.asked
	if string(a.Input) != `{"n":7}` || a.Title != "Sure?" || a.Description != "Seven." || len(a.Asked) != 2 || fmt.Sprint(a.Allowed) != "[allow-once deny]" {
		t.Errorf("asked %+v", a)
	}
	if _, err := h.Decide(t.Context(), a.ID, policy.AllowAlways, ""); !errors.Is(err, policy.ErrNotAllowed) {
		t.Errorf("got %v", err)
	}
	decide(t, h, a.ID, policy.AllowOnce)
	wantValue(t, <-done, `[7,"blocked"]`)
}

// TestAbortCancelsApprovals, of an active run and of a suspended one.
func TestAbortCancelsApprovals(t *testing.T) {
	t.Parallel()
	t.Run("abort", func(t *testing.T) {
		desk := newDesk()
		cfg := desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo"))
		store := &resolutions{resolved: make(chan policy.Resolution, 1)}
		cfg.Approvals.Store = store
		h := start(t, cfg)
		run := wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await tools.echo()`}), host.ReasonApproval)
		a := <-desk.asked
		h.Abort(t.Context(), me, run)
		if r := <-store.resolved; r.State != policy.StateCancelled {
			t.Errorf("resolved as %+v", r)
		}
		if _, err := h.Decide(t.Context(), a.ID, policy.AllowOnce, ""); !errors.Is(err, policy.ErrCancelled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("context", func(t *testing.T) {
		desk := newDesk()
		h := start(t, desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo")))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan *host.Result, 1)
		go func() { done <- h.Exec(ctx, me, host.ExecInput{Code: `return await tools.echo()`}) }()
		a := <-desk.asked
		cancel()
		if r := <-done; r.Code != host.CodeAborted {
			t.Errorf("got %s", show(r))
		}
		if _, err := h.Decide(t.Context(), a.ID, policy.AllowOnce, ""); !errors.Is(err, policy.ErrCancelled) {
			t.Errorf("got %v", err)
		}
	})
}

// resolutions is a store that tells of resolutions.
type resolutions struct {
	policy.MemoryApprovals
	resolved chan policy.Resolution
}

func (s *resolutions) Resolve(ctx context.Context, id string, r policy.Resolution) (*policy.Approval, error) {
	a, err := s.MemoryApprovals.Resolve(ctx, id, r)
	s.resolved <- r
	return a, err
}

// TestTheGuestGivesItsWorkerBackWhileItWaits: with one worker, other cells run.
func TestTheGuestGivesItsWorkerBackWhileItWaits(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	cfg := desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo"))
	cfg.Guests.Max = 1
	h := start(t, cfg)
	done := execLater(h, host.ExecInput{Code: `return await tools.echo({n: 1})`})
	a := <-desk.asked
	wantValue(t, exec(h, `return 2`), `2`)
	decide(t, h, a.ID, policy.AllowOnce)
	wantValue(t, <-done, `{"n":1}`)
}

// TestAFullStoreDenies: no one can be asked, so nothing may happen.
func TestAFullStoreDenies(t *testing.T) {
	t.Parallel()
	cfg := newDesk().config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo"))
	cfg.Approvals.Store = &full{}
	wantValue(t, exec(start(t, cfg), refused),
		`["The call of \"echo\" was denied: it needs an approval, and no one could be asked.","denied","none","quoin:core:echo"]`)
}

type full struct{ policy.MemoryApprovals }

func (*full) Add(context.Context, *policy.Approval) error { return policy.ErrFull }

// TestProgramsCanNeedApproval: the outer call waits like any other, before
// anything of it runs.
func TestProgramsCanNeedApproval(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		decision policy.Decision
		suspend  bool
	}{
		{"allowed", policy.AllowOnce, false},
		{"denied", policy.Deny, false},
		{"allowed later", policy.AllowOnce, true},
		{"denied later", policy.Deny, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			desk := newDesk()
			h := start(t, desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, policy.ExecTool.ID())))
			in := host.ExecInput{Code: `const n: number = 41; return (await tools.echo({n})).n + 1`, Language: "typescript"}
			var r *host.Result
			if tc.suspend {
				r = h.Exec(host.WithAskingCaller(t.Context()), me, in)
				id := wantWaiting(t, r, host.ReasonApproval)
				if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Method != "exec" {
					t.Errorf("got %s", show(r))
				}
				decide(t, h, (<-desk.asked).ID, tc.decision)
				r = h.Wait(t.Context(), me, id)
			} else {
				done := execLater(h, in)
				a := <-desk.asked
				if a.Kind != policy.KindExec || a.ToolID != policy.ExecTool.ID() || !strings.Contains(string(a.Input), "41") {
					t.Errorf("asked %+v", a)
				}
				decide(t, h, a.ID, tc.decision)
				r = <-done
			}
			if tc.decision == policy.AllowOnce {
				wantValue(t, r, `42`)
				return
			}
			wantFailure(t, r, host.CodeInvalidInput, "", host.PhaseHost)
			if r.Dispatched || !strings.Contains(r.Error, "denied") {
				t.Errorf("got %s", show(r))
			}
		})
	}
}
