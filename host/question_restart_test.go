package host_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// TestQuestionsSurviveTheHost in a directory, and are answered without a host.
func TestQuestionsSurviveTheHost(t *testing.T) {
	t.Parallel()
	dir, desk := t.TempDir(), newDesk()
	var calls []catalog.Invocation
	cfg := desk.config([]catalog.Tool{once(&calls, "7", sizeQuestion("a"))})
	first := start(t, kept(t, dir, cfg))
	id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await tools.order({n: 1})`}), codemode.ReasonApproval)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	apart := openState(t, dir).Approvals()
	if _, err := policy.Answer(t.Context(), apart, (<-desk.asked).ID, replies{"a": accepted(`{"size":"M"}`)}, "bob", time.Now()); err != nil {
		t.Fatal(err)
	}
	r := start(t, kept(t, dir, cfg)).Wait(t.Context(), me, id)
	wantValue(t, r, `{"state":7,"answers":{"a":{"action":"accept","content":{"size":"M"}}}}`)
	if len(calls) != 2 || len(desk.asked) != 0 || r.Telemetry.ApprovalCount != 1 {
		t.Errorf("%d invocations, %d more questions, telemetry %+v", len(calls), len(desk.asked), r.Telemetry)
	}
}

func sizeQuestion(id string) codemode.Question {
	return codemode.Question{ID: id, Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
		Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string"}},"required":["size"]}`)}
}

// once is a tool that asks questions before it answers with what it got back, and keeps its invocations.
func once(calls *[]catalog.Invocation, state string, questions ...codemode.Question) catalog.Tool {
	tool := counted("order", calls)
	counts := tool.Invoke
	tool.Invoke = func(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
		if _, err := counts(ctx, inv); err != nil {
			return nil, err
		}
		if inv.Resumption == nil {
			return nil, &codemode.InputRequired{Questions: questions, State: json.RawMessage(state)}
		}
		return json.Marshal(inv.Resumption)
	}
	return tool
}

type replies = map[string]host.QuestionAnswer

func accepted(content string) host.QuestionAnswer {
	return host.QuestionAnswer{Action: codemode.AnswerAccept, Content: json.RawMessage(content)}
}

func reply(t testing.TB, h *host.Host, id string, a replies) {
	t.Helper()
	if _, err := h.Approvals().Answer(context.Background(), id, a, "alice"); err != nil {
		t.Fatal(err)
	}
}
