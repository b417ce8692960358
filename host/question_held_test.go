package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// holding is a tool that asks while its call is held open.
func holding(ask func(context.Context, catalog.Invocation) (any, error)) catalog.Tool {
	return catalog.Tool{Name: "order", Description: "Orders.", Invoke: func(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
		v, err := ask(ctx, inv)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}}
}

// asksOnce asks one question and returns the answer.
func asksOnce(ctx context.Context, inv catalog.Invocation) (any, error) {
	return inv.Ask(ctx, sizeQuestion("a"))
}

// TestAToolAsksWhileItsCallIsOpen: the run is suspended in the meantime, and the tool is
// invoked once.
func TestAToolAsksWhileItsCallIsOpen(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config([]catalog.Tool{holding(asksOnce)}))
	r := h.Exec(t.Context(), me, host.ExecInput{Code: ordering})
	id := wantWaiting(t, r, codemode.ReasonApproval)
	a := <-desk.asked
	if len(r.PendingToolCalls) != 1 || a.Questions[0].ID != "a" || a.CallID != r.PendingToolCalls[0].ID {
		t.Errorf("asked %+v, got %s", a, show(r))
	}
	reply(t, h, a.ID, replies{"a": accepted(`{"size":"M"}`)})
	wantValue(t, h.Wait(t.Context(), me, id), `{"action":"accept","content":{"size":"M"}}`)
}

// TestQuestionsOfOneCallAreAskedInTurn when the tool asks them at once.
func TestQuestionsOfOneCallAreAskedInTurn(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config([]catalog.Tool{holding(func(ctx context.Context, inv catalog.Invocation) (any, error) {
		got, errs := make([]host.QuestionAnswer, 3), make([]error, 3)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() { got[i], errs[i] = inv.Ask(ctx, sizeQuestion(fmt.Sprint(i))) })
		}
		all.Wait()
		return got, errors.Join(errs...)
	})}))
	done := execLater(h, host.ExecInput{Code: ordering})
	for range 3 {
		a := <-desk.asked
		if len(desk.asked) != 0 {
			t.Error("two are asked at once")
		}
		reply(t, h, a.ID, replies{a.Questions[0].ID: {Action: codemode.AnswerDecline}})
	}
	wantValue(t, <-done, `[{"action":"decline"},{"action":"decline"},{"action":"decline"}]`)
}

// TestAHeldQuestionFails where it cannot be asked or is not answered. The tool decides how the
// call ends.
func TestAHeldQuestionFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		ask  func(context.Context, catalog.Invocation) (any, error)
		then func(t *testing.T, h *host.Host, a *policy.Approval)
		want string
	}{
		{"a sign-in", func(ctx context.Context, inv catalog.Invocation) (any, error) { return inv.Ask(ctx, signInQuestion()) }, nil,
			`["a sign-in is not asked for while a call is held open","tool_error",null]`},
		{"not a question", func(ctx context.Context, inv catalog.Invocation) (any, error) {
			return inv.Ask(ctx, codemode.Question{})
		}, nil,
			`["the id of a question is \"\", expected 1 to 128 bytes of text","tool_error",null]`},
		{"no answer in time", asksOnce, func(*testing.T, *host.Host, *policy.Approval) {}, `["no one answered in time","tool_error",null]`},
		{"one that the tool gives up", func(ctx context.Context, inv catalog.Invocation) (any, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Millisecond, errors.New("gave up"))
			defer cancel()
			return inv.Ask(ctx, sizeQuestion("a"))
		}, nil, `["gave up","tool_error",null]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			desk := newDesk()
			cfg := desk.config([]catalog.Tool{holding(tc.ask)})
			cfg.Approvals.QuestionTimeout = time.Second
			h := start(t, cfg)
			done := execLater(h, host.ExecInput{Code: ordering})
			if tc.then != nil {
				tc.then(t, h, <-desk.asked)
			}
			wantValue(t, <-done, tc.want)
			if list, err := h.Approvals().List(t.Context(), policy.Filter{}); err != nil || len(list) != 0 {
				t.Errorf("%d wait, %v", len(list), err)
			}
		})
	}
}

// TestAQuestionEndsWithItsCall: a tool that returns without the answer takes its question
// along, and cannot ask any more.
func TestAQuestionEndsWithItsCall(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	ask, left := make(chan func() error, 1), make(chan error, 1)
	h := start(t, desk.config([]catalog.Tool{holding(func(ctx context.Context, inv catalog.Invocation) (any, error) {
		again := func() error { _, err := inv.Ask(context.Background(), sizeQuestion("a")); return err }
		go func() { left <- again() }()
		desk.asked <- <-desk.asked
		ask <- again
		return "ordered", nil
	})}))
	wantValue(t, exec(h, ordering), `"ordered"`)
	for _, err := range []error{<-left, (<-ask)()} {
		if err == nil || err.Error() != "the call that asks is over" {
			t.Errorf("got %v", err)
		}
	}
	if _, err := h.Approvals().Answer(t.Context(), (<-desk.asked).ID, replies{"a": {Action: codemode.AnswerDecline}}, ""); !errors.Is(err, policy.ErrCancelled) {
		t.Errorf("%v, want ErrCancelled", err)
	}
}

// TestAHeldQuestionEndsWithItsHost: the call cannot continue elsewhere, so its effect is
// unknown and its question over.
func TestAHeldQuestionEndsWithItsHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	desk := newDesk()
	cfg := desk.config([]catalog.Tool{holding(asksOnce)})
	cfg.DrainTimeout = time.Hour // which Close does not take: all the call does is to wait for a person
	first := start(t, kept(t, dir, cfg))
	id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: ordering}), codemode.ReasonApproval)
	a := <-desk.asked
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, kept(t, dir, cfg))
	r := second.Wait(t.Context(), me, id)
	wantValue(t, r, `["The host stopped while \"quoin:core:order\" was running, so whether it took effect is unknown. Check before you call it again.","interrupted","unknown"]`)
	if _, err := second.Approvals().Answer(t.Context(), a.ID, replies{"a": {Action: codemode.AnswerDecline}}, ""); !errors.Is(err, policy.ErrCancelled) {
		t.Errorf("%v, want ErrCancelled", err)
	}
}

// TestTheEndOfARunCancelsAHeldQuestion.
func TestTheEndOfARunCancelsAHeldQuestion(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config([]catalog.Tool{holding(asksOnce)}))
	id := wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: ordering}), codemode.ReasonApproval)
	a := <-desk.asked
	h.Abort(t.Context(), me, id)
	if _, err := h.Approvals().Answer(t.Context(), a.ID, replies{"a": {Action: codemode.AnswerDecline}}, ""); !errors.Is(err, policy.ErrCancelled) {
		t.Errorf("%v, want ErrCancelled", err)
	}
}
