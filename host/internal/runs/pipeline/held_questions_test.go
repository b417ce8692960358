package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
)

// holding has a tool that asks while its call is held open.
func holding(ask func(context.Context, catalog.Invocation) (any, error)) Setup {
	return Setup{Tools: []catalog.Tool{Does("order", func(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
		v, err := ask(ctx, inv)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	})}}
}

// asksOnce asks one question and returns the answer.
func asksOnce(ctx context.Context, inv catalog.Invocation) (any, error) {
	return inv.Ask(ctx, sizeQuestion("a"))
}

// TestAToolAsksWhileItsCallIsOpen: the run is suspended, and the tool is invoked once.
func TestAToolAsksWhileItsCallIsOpen(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, holding(asksOnce))
		r := h.Run(orders)
		id := WantWaiting(t, r, codemode.ReasonApproval)
		a := <-h.Asked
		if len(r.PendingToolCalls) != 1 || a.Questions[0].ID != "a" || a.CallID != r.PendingToolCalls[0].ID {
			t.Errorf("asked %+v, got %s", a, Show(r))
		}
		reply(t, h, a.ID, medium)
		WantValue(t, h.Resume(id), `{"action":"accept","content":{"size":"M"}}`)
		if len(h.Asked) != 0 {
			t.Error("it asks again")
		}
	})
}

// TestQuestionsOfOneCallAreAskedInTurn when the tool asks them at once.
func TestQuestionsOfOneCallAreAskedInTurn(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, holding(func(ctx context.Context, inv catalog.Invocation) (any, error) {
			got, errs := make([]codemode.QuestionAnswer, 3), make([]error, 3)
			var all sync.WaitGroup
			for i := range got {
				all.Go(func() { got[i], errs[i] = inv.Ask(ctx, sizeQuestion(fmt.Sprint(i))) })
			}
			all.Wait()
			return got, errors.Join(errs...)
		}))
		done := h.Go(orders)
		for range 3 {
			a := <-h.Asked
			if len(h.Asked) != 0 {
				t.Error("two are asked at once")
			}
			reply(t, h, a.ID, replies{a.Questions[0].ID: declined})
		}
		WantValue(t, <-done, `[{"action":"decline"},{"action":"decline"},{"action":"decline"}]`)
	})
}

// TestAHeldQuestionFails where it cannot be asked or is not answered. The tool decides how the call ends.
func TestAHeldQuestionFails(t *testing.T) {
	for name, tt := range map[string]struct {
		ask  func(context.Context, catalog.Invocation) (any, error)
		want string
	}{
		"a sign-in": {func(ctx context.Context, inv catalog.Invocation) (any, error) { return inv.Ask(ctx, signIn) }, "a sign-in is not asked for while a call is held open"},
		"not a question": {func(ctx context.Context, inv catalog.Invocation) (any, error) {
			return inv.Ask(ctx, codemode.Question{})
		}, `the id of a question is \"\", expected 1 to 128 bytes of text`},
		"no answer in time": {asksOnce, "no one answered in time"},
		"the tool gives up": {func(ctx context.Context, inv catalog.Invocation) (any, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Millisecond, errors.New("gave up"))
			defer cancel()
			return inv.Ask(ctx, sizeQuestion("a"))
		}, "gave up"},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				s := holding(tt.ask)
				s.Config = questionsOf(time.Second)
				h := Start(t, s)
				WantValue(t, h.Run(orders), `["`+tt.want+`","tool_error","","quoin:core:order"]`)
				if list, err := policy.Select(t.Context(), h.Approvals, policy.Filter{}, time.Now()); err != nil || len(list) != 0 {
					t.Errorf("%d wait, %v", len(list), err)
				}
			})
		})
	}
}

// TestAQuestionEndsWithItsCall: a tool that returns without the answer takes its question along, and cannot
// ask any more.
func TestAQuestionEndsWithItsCall(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var again func() error
		var h *Host
		left := make(chan error, 1)
		h = Start(t, holding(func(ctx context.Context, inv catalog.Invocation) (any, error) {
			again = func() error { _, err := inv.Ask(context.WithoutCancel(ctx), sizeQuestion("a")); return err }
			go func() { left <- again() }()
			h.Asked <- <-h.Asked
			return "ordered", nil
		}))
		WantValue(t, h.Run(orders), `"ordered"`)
		for _, err := range []error{<-left, again()} {
			if err == nil || err.Error() != "the call that asks is over" {
				t.Errorf("got %v", err)
			}
		}
		wantOver(t, h, <-h.Asked)
	})
}

// TestAHeldQuestionEndsWithItsHost: the call cannot continue elsewhere, so its effect is unknown and its
// question over. Close does not wait: all the call does is to wait for a person.
func TestAHeldQuestionEndsWithItsHost(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := holding(asksOnce)
		s.Store, s.Approvals = NewKept(), &policy.MemoryApprovals{}
		s.Config = func(c *run.Config) { c.DrainTimeout = time.Hour }
		first := Start(t, s)
		id := WantWaiting(t, asked{first, t}.run(orders), codemode.ReasonApproval)
		WantTook(t, 0, first.Shut)
		second := Start(t, s)
		WantValue(t, second.Resume(id), `["The host stopped while \"quoin:core:order\" was running, so whether it took effect is unknown. Check before you call it again.","interrupted","unknown","quoin:core:order"]`)
		wantOver(t, second, <-first.Asked)
	})
}
