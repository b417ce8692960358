package host_test

import (
	"context"
	"encoding/json"
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
	if _, err := h.Approvals().Decide(context.Background(), id, d, "alice"); err != nil {
		t.Fatal(err)
	}
}

// execLater runs a cell on another goroutine.
func execLater(h *host.Host, in host.ExecInput) <-chan *host.Result {
	done := make(chan *host.Result, 1)
	go func() { done <- h.Exec(context.Background(), me, in) }()
	return done
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
