package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
)

// TestAFloodOfQuestionsHarmsNobodyElse: a program that asks, gives up and asks
// again fills neither the store, so that other sessions could not ask, nor the
// host's memory.
func TestAFloodOfQuestionsHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	const most = 2 // pending
	flood := `for (let i = 0; i < 25; i++) {
		const c = new AbortController()
		const call = tools.echo({n: i}, {signal: c.signal}).catch(e => e.name)
		await tools.asked()
		c.abort()
		await call
		await tools.cancelled()
	}
	return "done"`
	for name, store := range map[string]func(*testing.T) policy.Approvals{
		"memory": func(*testing.T) policy.Approvals { return &policy.MemoryApprovals{MaxPending: most} },
		"directory": func(t *testing.T) policy.Approvals {
			_, d, err := stateDir(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			d.MaxPending = most
			return d
		},
	} {
		t.Run(name, func(t *testing.T) {
			desk, s := newDesk(), store(t)
			var calls []catalog.Invocation
			var last string
			asked := answers("asked", func(context.Context) { last = (<-desk.asked).ID })
			cancelled := answers("cancelled", func(ctx context.Context) {
				changed := s.Watch(ctx)
				for {
					a, err := s.Get(ctx, last)
					if err != nil || a.State != policy.StatePending {
						return
					}
					select {
					case <-changed:
					case <-ctx.Done():
						return
					}
				}
			})
			cfg := desk.config([]catalog.Tool{counted("echo", &calls), asked, cancelled}, asks(policy.ApprovalRequest{}, "echo"))
			cfg.Approvals.Store = s
			h := start(t, cfg)
			wantValue(t, exec(h, flood), `"done"`)
			list, err := h.Approvals().List(t.Context(), policy.Filter{Resolved: true})
			if err != nil || len(list) > 10*most {
				t.Errorf("%v, %d approvals are kept, want at most %d", err, len(list), 10*most)
			}
			done := make(chan *host.Result, 1)
			go func() {
				done <- h.Exec(context.Background(), host.Session{AgentID: "another", SessionID: "another"}, host.ExecInput{Code: refused})
			}()
			select {
			case a := <-desk.asked:
				decide(t, h, a.ID, policy.AllowOnce)
				wantValue(t, <-done, `{"n":1}`)
			case r := <-done:
				t.Fatalf("another session was not asked: %s", show(r))
			}
		})
	}
}

// answers is a tool that does something and returns null.
func answers(name string, do func(context.Context)) catalog.Tool {
	return catalog.Tool{Name: name, Description: "Answers.", ReadOnly: true, Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		do(ctx)
		return nil, nil
	}}
}
