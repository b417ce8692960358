package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// alteredApprovals is a store of approvals that shows them changed, or lets a test
// act before one is added.
type alteredApprovals struct {
	policy.Approvals
	alter func(*policy.Approval)
	add   func()
}

func (s alteredApprovals) Get(ctx context.Context, id string) (*policy.Approval, error) {
	a, err := s.Approvals.Get(ctx, id)
	if err == nil && s.alter != nil {
		s.alter(a)
	}
	return a, err
}

func (s alteredApprovals) Add(ctx context.Context, a *policy.Approval) error {
	if s.add != nil {
		s.add()
	}
	return s.Approvals.Add(ctx, a)
}

// TestAQuestionThatComesAfterTheEnd of its run is cancelled at once: the run ended
// while the question was being stored.
func TestAQuestionThatComesAfterTheEnd(t *testing.T) {
	t.Parallel()
	storing, ended := make(chan struct{}), make(chan struct{})
	desk := newDesk()
	cfg := desk.config([]catalog.Tool{echo("echo"), newGate().tool("never")}, asks(policy.ApprovalRequest{Timeout: time.Hour}, "echo"))
	cfg.Approvals.Store = alteredApprovals{Approvals: &policy.MemoryApprovals{}, add: func() { close(storing); <-ended }}
	h := start(t, cfg)
	ctx, abort := context.WithCancel(t.Context())
	done := make(chan *host.Result)
	go func() {
		done <- h.Exec(ctx, me, host.ExecInput{Code: `tools.echo({n: 1}).catch(() => {}); await tools.never()`})
	}()
	<-storing
	abort()
	wantFailure(t, <-done, codemode.CodeAborted, "", codemode.PhaseHost)
	close(ended)
	h.Engine().Quiet(t.Context())
	list, err := h.Approvals().List(t.Context(), policy.Filter{Resolved: true})
	if err != nil || len(list) != 1 || list[0].State != policy.StateCancelled {
		t.Errorf("%v, approvals %+v; want one that is cancelled", err, list)
	}
}

// TestApprovedInputIsCheckedAgain: people take their time, and the tool may take
// something else by then.
func TestApprovedInputIsCheckedAgain(t *testing.T) {
	t.Parallel()
	var calls []catalog.Invocation
	version := func(schema string) catalog.Tool {
		tool := counted("echo", &calls)
		tool.Parameters = json.RawMessage(schema)
		return tool
	}
	old := version(`{"type":"object","properties":{"n":{"type":"number"}}}`)
	now := version(`{"type":"object","properties":{"n":{"type":"string"}}}`)
	const program = `try { return await tools.echo({n: 1}) } catch (e) { return e.code }`
	check := func(t *testing.T, r *host.Result) {
		t.Helper()
		if len(calls) != 0 {
			t.Errorf("the tool was called with %s, which it does not take", calls[0].Input)
		}
		wantValue(t, r, `"catalog_changed"`)
	}
	t.Run("in the same host", func(t *testing.T) {
		desk := newDesk()
		h := start(t, desk.config([]catalog.Tool{old}, asks(policy.ApprovalRequest{}, "echo")))
		id := wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: program}), codemode.ReasonApproval)
		if err := h.Replace(now); err != nil {
			t.Fatal(err)
		}
		wantWaiting(t, h.Wait(host.WithAskingCaller(t.Context()), me, id), codemode.ReasonApproval)
		decide(t, h, (<-desk.asked).ID, policy.AllowOnce)
		check(t, h.Wait(t.Context(), me, id))
	})
	next := func(t *testing.T, hook policy.Hook, program string) {
		dir, desk := t.TempDir(), newDesk()
		first := start(t, kept(t, dir, desk.config([]catalog.Tool{old}, hook)))
		id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: program}), codemode.ReasonApproval)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := start(t, kept(t, dir, desk.config([]catalog.Tool{now}, hook)))
		decide(t, second, (<-desk.asked).ID, policy.AllowOnce)
		check(t, second.Wait(t.Context(), me, id))
	}
	t.Run("in the next host", func(t *testing.T) { next(t, asks(policy.ApprovalRequest{}, "echo"), program) })
	t.Run("as a hook has rewritten it", func(t *testing.T) {
		rewrite := policy.Hook{Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
			return policy.Verdict{Params: json.RawMessage(`{"n":1}`), Approval: &policy.ApprovalRequest{}}, nil
		}, Tools: []string{"echo"}}
		// What the program gives is good for either version of the tool.
		next(t, rewrite, strings.Replace(program, `{n: 1}`, `{}`, 1))
	})
}
