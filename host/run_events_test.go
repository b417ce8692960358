package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
)

// story tells what Events yields, one word or two for each.
func story(h *host.Host, start func(context.Context) *host.Result, each func(host.RunEvent)) (words []string, res *host.Result, err error) {
	for e, failed := range h.Events(context.Background(), start) {
		switch {
		case e.Event != nil:
			words = append(words, strings.TrimSpace(string(e.Event.Kind)+" "+e.Event.ToolName))
		case e.Output != nil:
			words = append(words, "output "+e.Output.Text())
		case e.Approval != nil:
			words = append(words, "asks "+e.Approval.Title)
		default:
			words = append(words, "result "+string(e.Result.Status))
			res, err = e.Result, failed
		}
		if each != nil {
			each(e)
		}
	}
	return words, res, err
}

// TestEventsYieldsARun: output comes before the end of its run, nested calls with their
// progress, and the result last. Nothing of another run is among them.
func TestEventsYieldsARun(t *testing.T) {
	t.Parallel()
	g := newGate()
	step := echo("step")
	invoke := step.Invoke
	step.Invoke = func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
		c.Progress(json.RawMessage(`{"done":1,"total":2}`))
		return invoke(ctx, c)
	}
	h := start(t, host.Config{Tools: []catalog.Tool{step, g.tool("slow")}})
	run := func(ctx context.Context) *host.Result {
		exec(h, `return await tools.step({})`) // another run
		return h.Exec(ctx, me, host.ExecInput{Code: `text("hello"); await tools.step({}); text("bye"); return await tools.slow()`})
	}
	words, res, err := story(h, run, func(e host.RunEvent) {
		if e.Event != nil && e.Event.Kind == trajectory.CallStarted && e.Event.ToolName == "slow" {
			close(g.open) // both texts have come by now, or this never ends
		}
	})
	want := []string{"run_started", "output hello", "call_started step", "call_progress step", "call_ended step", "output bye",
		"call_started slow", "call_ended slow", "run_ended", "result completed"}
	if !slices.Equal(words, want) || err != nil {
		t.Errorf("got %q, %v", words, err)
	}
	wantValue(t, res, `"through"`)
	words, _, err = story(h, func(ctx context.Context) *host.Result {
		return h.Exec(ctx, me, host.ExecInput{Code: `throw new Error("no")`})
	}, nil)
	if want := []string{"run_started", "run_ended", "result failed"}; !slices.Equal(words, want) || err == nil {
		t.Errorf("got %q, %v", words, err)
	}
}

// TestAQuestionIsAValue: what a person is asked is in the events and in the waiting
// Result, in no JSON of it, and is answered later; a decision as well as a form.
func TestAQuestionIsAValue(t *testing.T) {
	t.Parallel()
	ask, err := policy.ApprovalRule{Tools: []string{"pay"}, ApprovalRequest: policy.ApprovalRequest{Title: "Pay?"}}.Hook("payments")
	if err != nil {
		t.Fatal(err)
	}
	var calls []catalog.Invocation
	h := start(t, host.Config{Tools: []catalog.Tool{echo("pay"), once(&calls, "", sizeQuestion("a"))}, Hooks: []policy.Hook{ask}})
	for _, tc := range []struct {
		code, asks string
		answer     func(a host.PendingApproval) error
	}{
		{`return await tools.pay({n: 1}).then(() => 7)`, "asks Pay?", func(a host.PendingApproval) error {
			if !slices.Contains(a.Allowed, string(policy.AllowOnce)) || string(a.Input) != `{"n":1}` || len(a.Questions) != 0 {
				return fmt.Errorf("it is %+v", a)
			}
			_, err := h.Approvals().Decide(context.Background(), a.ID, policy.AllowOnce, "ada")
			return err
		}},
		{`return await tools.order({}).then(() => 7)`, "asks shop asks before order can go on", func(a host.PendingApproval) error {
			if len(a.Allowed) != 0 || len(a.Questions) != 1 || a.Questions[0].Kind != codemode.QuestionForm {
				return fmt.Errorf("it is %+v", a)
			}
			_, err := h.Approvals().Answer(context.Background(), a.ID, replies{"a": accepted(`{"size":"M"}`)}, "ada")
			return err
		}},
	} {
		words, r, err := story(h, func(ctx context.Context) *host.Result {
			return h.Exec(host.WithAskingCaller(ctx), me, host.ExecInput{Code: tc.code})
		}, nil)
		if !slices.Contains(words, tc.asks) || err != nil {
			t.Errorf("got %q, %v", words, err)
		}
		id := wantWaiting(t, r, codemode.ReasonApproval)
		if len(r.PendingApprovals) != 1 || r.PendingApprovals[0].CallID != r.PendingToolCalls[0].ID || r.PendingApprovals[0].Expires.Before(time.Now()) {
			t.Fatalf("it waits for %+v", r.PendingApprovals)
		}
		if strings.Contains(show(r), r.PendingApprovals[0].ID) {
			t.Errorf("a model would read %s", show(r))
		}
		if err := tc.answer(r.PendingApprovals[0]); err != nil {
			t.Fatal(err)
		}
		wantValue(t, h.Wait(context.Background(), me, id), `7`)
	}
}

// TestEventsLeftEarly: a loop that is left ends its run, and waits for that.
func TestEventsLeftEarly(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("slow")}})
	var res *host.Result
	for e := range h.Events(context.Background(), func(ctx context.Context) *host.Result {
		res = h.Exec(ctx, me, host.ExecInput{Code: `return await tools.slow()`})
		return res
	}) {
		if e.Event != nil && e.Event.Kind == trajectory.CallStarted {
			break
		}
	}
	wantFailure(t, res, codemode.CodeAborted, "", codemode.PhaseHost)

	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("the panic became %v", p)
		}
	}()
	for range h.Events(context.Background(), func(context.Context) *host.Result { panic("mine") }) {
		t.Error("there is nothing to yield")
	}
}

// TestEventsWithoutAResult: a start that returns nothing is a failure that the loop sees.
func TestEventsWithoutAResult(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	for name, run := range map[string]func(context.Context) *host.Result{
		"nil":    func(context.Context) *host.Result { return nil },
		"Goexit": func(context.Context) *host.Result { runtime.Goexit(); return nil },
	} {
		words, res, err := story(h, run, nil)
		var e *host.Error
		if !slices.Equal(words, []string{"result failed"}) || !errors.As(err, &e) || e.Code != codemode.CodeInternal {
			t.Errorf("%s: got %q, %v", name, words, err)
		}
		wantFailure(t, res, codemode.CodeInternal, "", codemode.PhaseHost)
	}
}
