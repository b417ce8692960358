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

// TestQuestionsSurviveTheHost, and are answered without a host, or with the next.
func TestQuestionsSurviveTheHost(t *testing.T) {
	t.Parallel()
	const once7 = `{"state":7,"answers":{"login":{"action":"accept"}}}`
	accept := replies{"login": accepted("")}
	for _, tc := range []struct {
		name  string
		apart func(t *testing.T, s policy.Approvals, id string) error // while there is no host
		after replies                                                 // in the second host
		want  string
		again int // invocations by the second host
	}{
		{"answered meanwhile", func(t *testing.T, s policy.Approvals, id string) error {
			_, err := policy.Answer(t.Context(), s, id, accept, "bob", time.Now())
			return err
		}, nil, once7, 1},
		{"signed in meanwhile", func(t *testing.T, s policy.Approvals, _ string) error {
			_, err := policy.AnswerAuthorization(t.Context(), s, "shop", nil, "login", time.Now())
			return err
		}, nil, once7, 1},
		{"expired meanwhile", func(t *testing.T, s policy.Approvals, _ string) error {
			return s.Sweep(t.Context(), time.Now().Add(time.Hour))
		}, nil, `["The call of \"order\" was given up: core asked a person, and had no answer in time.","input_expired","none"]`, 0},
		{"answered afterwards", nil, accept, once7, 1},
		{"declined afterwards", nil, replies{"login": {Action: codemode.AnswerDecline}},
			`["The call of \"order\" was not made: the sign-in to shop was declined.","authorization_declined","none"]`, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			desk := newDesk()
			var calls []catalog.Invocation
			signIn := codemode.Question{ID: "login", Kind: codemode.QuestionAuthorization, From: "shop", Message: "Sign in.", URL: "https://id.example/authorize?state=s3cret"}
			cfg := desk.config([]catalog.Tool{once(&calls, "7", signIn)})
			first := start(t, kept(t, dir, cfg))
			id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: ordering}), codemode.ReasonApproval)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			a := <-desk.asked
			if tc.apart != nil {
				_, s, err := stateDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := tc.apart(t, s, a.ID); err != nil {
					t.Fatal(err)
				}
			}
			second := start(t, kept(t, dir, cfg))
			if tc.after != nil {
				wantWaiting(t, second.Wait(host.WithAskingCaller(t.Context()), me, id), codemode.ReasonApproval)
				reply(t, second, a.ID, tc.after)
			}
			r := second.Wait(t.Context(), me, id)
			wantValue(t, r, tc.want)
			if n := len(calls); n != 1+tc.again || len(desk.asked) != 0 || r.Telemetry.ApprovalCount != 1 {
				t.Errorf("%d invocations, %d more questions, telemetry %+v", n, len(desk.asked), r.Telemetry)
			}
		})
	}
}

// ordering is a program that makes one call and tells how it ended.
const ordering = `try { return await tools.order({n: 1}) } catch (e) { return [e.message, e.code, e.effectStatus] }`

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
