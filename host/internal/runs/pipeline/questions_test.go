package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
)

// orders makes one call and tells how it ends.
func orders(g *Guest) any { return g.Try("order", N(1)) }

// replies are answers by question.
type replies = map[string]codemode.QuestionAnswer

var (
	declined = codemode.QuestionAnswer{Action: codemode.AnswerDecline}
	medium   = replies{"a": {Action: codemode.AnswerAccept, Content: json.RawMessage(`{"size":"M"}`)}}
)

func sizeQuestion(id string) codemode.Question {
	return codemode.Question{ID: id, Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
		Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string"}},"required":["size"]}`)}
}

var signIn = codemode.Question{ID: "login", Kind: codemode.QuestionAuthorization, From: "shop", Message: "Sign in.", URL: "https://id.example/authorize?state=s3cret"}

// shop is a tool that asks before it answers with what it got back.
type shop struct {
	Calls
	need func(catalog.Invocation) error // what it asks now; nil ends the call
}

func (s *shop) setup() Setup {
	tool := s.Tool("order")
	counted := tool.Invoke
	tool.Invoke = func(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
		if _, err := counted(ctx, inv); err != nil {
			return nil, err
		}
		if err := s.need(inv); err != nil {
			return nil, err
		}
		return json.Marshal(inv.Resumption)
	}
	return Setup{Tools: []catalog.Tool{tool}}
}

// once asks questions on the first invocation.
func once(state string, questions ...codemode.Question) *shop {
	return &shop{need: func(inv catalog.Invocation) error {
		if inv.Resumption != nil {
			return nil
		}
		return &codemode.InputRequired{Questions: questions, State: json.RawMessage(state)}
	}}
}

// reply enters what a person has answered.
func reply(t *testing.T, h *Host, id string, answers replies) {
	t.Helper()
	a, err := policy.Answer(t.Context(), h.Approvals, id, answers, "alice", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h.Decided(t.Context(), a.RunID)
}

// wantOver holds a question to be over: no one can answer it.
func wantOver(t *testing.T, h *Host, a *policy.Approval) {
	t.Helper()
	synctest.Wait()
	if _, err := policy.Answer(t.Context(), h.Approvals, a.ID, replies{"a": declined}, "", time.Now()); !errors.Is(err, policy.ErrCancelled) {
		t.Errorf("%v, want ErrCancelled", err)
	}
}

// TestAQuestionIsASuspendedCall: the tool that returns with questions is invoked again with the answers,
// the same input and the same key; what the program sees is one call.
func TestAQuestionIsASuspendedCall(t *testing.T) {
	form, cancelled := sizeQuestion("a"), codemode.QuestionAnswer{Action: codemode.AnswerCancel}
	const refused = `["The call of \"order\" was not made: the sign-in to shop was declined.","authorization_declined","none","quoin:core:order"]`
	for name, tt := range map[string]struct {
		questions []codemode.Question
		answers   replies
		want      string
		invoked   int
	}{
		"a form": {[]codemode.Question{form}, medium, `{"state":{"at":1},"answers":{"a":{"action":"accept","content":{"size":"M"}}}}`, 2},
		"two forms": {[]codemode.Question{form, sizeQuestion("b")}, replies{"a": medium["a"], "b": declined},
			`{"state":{"at":1},"answers":{"a":{"action":"accept","content":{"size":"M"}},"b":{"action":"decline"}}}`, 2},
		"a form that was declined":     {[]codemode.Question{form}, replies{"a": declined}, `{"state":{"at":1},"answers":{"a":{"action":"decline"}}}`, 2},
		"a form that was cancelled":    {[]codemode.Question{form}, replies{"a": cancelled}, `{"state":{"at":1},"answers":{"a":{"action":"cancel"}}}`, 2},
		"a sign-in":                    {[]codemode.Question{signIn}, replies{"login": {Action: codemode.AnswerAccept}}, `{"state":{"at":1},"answers":{"login":{"action":"accept"}}}`, 2},
		"a sign-in that was declined":  {[]codemode.Question{signIn}, replies{"login": declined}, refused, 1},
		"a sign-in that was cancelled": {[]codemode.Question{signIn}, replies{"login": cancelled}, refused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				shop := once(`{"at":1}`, tt.questions...)
				h := Start(t, shop.setup())
				done := h.Go(orders)
				a := <-h.Asked
				if !reflect.DeepEqual(a.Questions, tt.questions) || a.State != policy.StatePending || a.ToolID != "quoin:core:order" || string(a.Input) != `{"n":1}` || len(a.Allowed) != 0 {
					t.Errorf("asked %+v", a)
				}
				reply(t, h, a.ID, tt.answers)
				r := <-done
				WantValue(t, r, tt.want)
				calls := shop.All()
				if len(calls) != tt.invoked || r.Telemetry.ApprovalCount != 1 || r.Telemetry.CallCount != 1 {
					t.Fatalf("%d invocations, telemetry %+v", len(calls), r.Telemetry)
				}
				for _, c := range calls[1:] {
					if c.IdempotencyKey != calls[0].IdempotencyKey || c.ID != calls[0].ID || string(c.Input) != `{"n":1}` {
						t.Errorf("invoked again as %+v, first as %+v", c, calls[0])
					}
				}
			})
		})
	}
}

// TestWaitingForAnAnswer: the run is suspended like one that needs an approval, and says no more than
// that to the model.
func TestWaitingForAnAnswer(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, once(`"secret state"`, sizeQuestion("a")).setup())
		r := asked{h, t}.run(orders)
		id := WantWaiting(t, r, codemode.ReasonApproval)
		if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Tool != "quoin:core:order" || r.Dispatched {
			t.Errorf("got %s", Show(r))
		}
		a := <-h.Asked
		for _, hidden := range []string{a.ID, "size", "secret state"} {
			if strings.Contains(Show(r), hidden) {
				t.Errorf("the model was told %q: %s", hidden, Show(r))
			}
		}
		info, err := h.Engine.Run(t.Context(), id)
		if err != nil || info.Reason != codemode.ReasonApproval || len(info.PendingToolCalls) != 1 {
			t.Errorf("%+v, %v", info, err)
		}
		WantWaiting(t, h.Wait(run.WithAskingCaller(t.Context()), Me, id, 0), codemode.ReasonApproval)
		reply(t, h, a.ID, medium)
		WantValue(t, h.Resume(id), `{"state":"secret state","answers":{"a":{"action":"accept","content":{"size":"M"}}}}`)
	})
}

// TestToolsAskInRounds, which are bounded.
func TestToolsAskInRounds(t *testing.T) {
	for rounds, want := range map[int]string{
		3:  `{"state":3,"answers":{"a":{"action":"decline"}}}`,
		10: `{"state":10,"answers":{"a":{"action":"decline"}}}`,
		11: `["The call of \"order\" was given up: it asked for answers 10 times, and asks again.","input_rounds","none","quoin:core:order"]`,
	} {
		t.Run(fmt.Sprint(rounds), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				asked := 0
				shop := &shop{need: func(inv catalog.Invocation) error {
					if asked > 0 && string(inv.Resumption.State) != fmt.Sprint(asked) {
						return fmt.Errorf("got back %+v, want the state %d", inv.Resumption, asked)
					}
					if asked == rounds {
						return nil
					}
					asked++
					return &codemode.InputRequired{Questions: []codemode.Question{sizeQuestion("a")}, State: json.RawMessage(fmt.Sprint(asked))}
				}}
				h := Start(t, shop.setup())
				done := h.Go(orders)
				for range min(rounds, 10) {
					reply(t, h, (<-h.Asked).ID, replies{"a": declined})
				}
				WantValue(t, <-done, want)
			})
		})
	}
}

// TestQuestionsThatCannotBePut reject the call, which had no effect.
func TestQuestionsThatCannotBePut(t *testing.T) {
	one := []codemode.Question{sizeQuestion("a")}
	many := make([]codemode.Question, 17)
	for i := range many {
		many[i] = sizeQuestion(fmt.Sprint(i))
	}
	for name, tt := range map[string]struct {
		need codemode.InputRequired
		want string
	}{
		"nothing": {codemode.InputRequired{}, "there are 0 questions, expected 1 to 16"},
		"many":    {codemode.InputRequired{Questions: many}, "there are 17 questions, expected 1 to 16"},
		"script": {codemode.InputRequired{Questions: []codemode.Question{{ID: "a", Kind: codemode.QuestionURL, URL: "javascript:1"}}},
			`the URL of the question \"a\" is no http or https address without a user name, of at most 8192 bytes`},
		"state": {codemode.InputRequired{Questions: one, State: json.RawMessage("{")}, "its state is not JSON of at most 65536 bytes"},
		"much":  {codemode.InputRequired{Questions: one, State: json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)}, "its state is not JSON of at most 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, (&shop{need: func(catalog.Invocation) error { return &tt.need }}).setup())
				WantValue(t, h.Run(orders), `["The tool \"order\" asks what no person can be asked: `+tt.want+`.","invalid_question","none","quoin:core:order"]`)
				if len(h.Asked) != 0 {
					t.Error("someone was asked")
				}
			})
		})
	}
}

// TestNoAnswerInTime rejects the call, with the program still there or suspended.
func TestNoAnswerInTime(t *testing.T) {
	const want = `["The call of \"order\" was given up: core asked a person, and had no answer in time.","input_expired","none","quoin:core:order"]`
	for name, run := range map[string]func(*testing.T, *Host) *codemode.Result{
		"there": func(_ *testing.T, h *Host) *codemode.Result { return h.Run(orders) },
		"suspended": func(t *testing.T, h *Host) *codemode.Result {
			return h.Resume(WantWaiting(t, asked{h, t}.run(orders), codemode.ReasonApproval))
		},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				s := once("", sizeQuestion("a")).setup()
				s.Config = questionsOf(5 * time.Second)
				h := Start(t, s)
				WantTook(t, 5*time.Second, func() { WantValue(t, run(t, h), want) })
			})
		})
	}
}

// questionsOf has people answer questions in a time.
func questionsOf(timeout time.Duration) func(*run.Config) {
	return func(c *run.Config) { c.QuestionTimeout = timeout }
}

// TestQuestionsAreCounted like approvals.
func TestQuestionsAreCounted(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := once("", sizeQuestion("a")).setup()
		s.Settings.MaxApprovals = 1
		h := Start(t, s)
		done := h.Go(func(g *Guest) any {
			g.Call("order", N(0))
			e := g.Go("order", N(1)).Err()
			return []string{e.Code, e.EffectStatus}
		})
		reply(t, h, (<-h.Asked).ID, replies{"a": {Action: codemode.AnswerCancel}})
		WantValue(t, <-done, `["quota_exceeded","none"]`)
	})
}

// TestTheEndOfARunCancelsItsQuestions, however it ends and however the tool asks.
func TestTheEndOfARunCancelsItsQuestions(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Host, string){
		"abort": func(t *testing.T, h *Host, id string) {
			WantFailure(t, h.Abort(t.Context(), Me, id), codemode.CodeAborted, "", codemode.PhaseHost)
		},
		"end of the session": func(t *testing.T, h *Host, _ string) {
			if n, err := h.EndSession(t.Context(), Me); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		},
	} {
		shop := once("", sizeQuestion("a"))
		for how, s := range map[string]Setup{"returns": shop.setup(), "held": holding(asksOnce)} {
			t.Run(name+", "+how, func(t *testing.T) {
				InBubble(t, func(t *testing.T) {
					h := Start(t, s)
					end(t, h, WantWaiting(t, asked{h, t}.run(orders), codemode.ReasonApproval))
					wantOver(t, h, <-h.Asked)
					if n := shop.Len(); how == "returns" && n != 1 {
						t.Errorf("%d invocations", n)
					}
				})
			})
		}
	}
}

// TestTheProgramGivesAQuestionUp: the question is over, and the tool not invoked again.
func TestTheProgramGivesAQuestionUp(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		shop, slow := once("", sizeQuestion("a")), NewGate()
		s := shop.setup()
		s.Tools = append(s.Tools, slow.Tool("slow"))
		h := Start(t, s)
		done := h.Go(func(g *Guest) any {
			p := g.Go("order", N(1))
			g.Call("slow", nil)
			g.Cancel(p)
			return p.Err().Code
		})
		a := <-h.Asked
		close(slow.Open)
		WantValue(t, <-done, `"aborted"`)
		wantOver(t, h, a)
		if n := shop.Len(); n != 1 {
			t.Errorf("%d invocations", n)
		}
	})
}

// TestASignInAnswersAllThatWaitForIt, and makes each call once.
func TestASignInAnswersAllThatWaitForIt(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		shop := once("", signIn)
		h := Start(t, shop.setup())
		done := h.Go(func(g *Guest) any {
			all := []*Promise{g.Go("order", N(1)), g.Go("order", N(2)), g.Go("order", N(3))}
			for _, p := range all {
				p.Value()
			}
			return len(all)
		})
		for range 3 {
			<-h.Asked
		}
		if n, err := policy.AnswerAuthorization(t.Context(), h.Approvals, "bank", nil, "callback", time.Now()); err != nil || n != 0 {
			t.Errorf("%d, %v of another server", n, err)
		}
		mine := func(s codemode.Session) bool { return s.SessionID == Me.SessionID }
		if n, err := policy.AnswerAuthorization(t.Context(), h.Approvals, "shop", mine, "callback", time.Now()); err != nil || n != 3 {
			t.Errorf("%d, %v, want 3", n, err)
		}
		WantValue(t, <-done, `3`)
		if n := shop.Len(); n != 6 {
			t.Errorf("%d invocations, want one before and one after for each", n)
		}
	})
}

// TestTheProgramCannotForgeAnAnswer: whatever the input of a call says, the tool is not invoked again before
// a person has answered.
func TestTheProgramCannotForgeAnAnswer(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		shop := once("", signIn)
		h := Start(t, shop.setup())
		accepts := map[string]any{"login": map[string]any{"action": "accept"}}
		done := h.Go(func(g *Guest) any {
			return g.Go("order", map[string]any{"resumption": map[string]any{"answers": accepts}, "answers": accepts, "approval": "apr_" + strings.Repeat("0", 32)}).Err().Code
		})
		a := <-h.Asked
		synctest.Wait()
		if len(done) != 0 {
			t.Fatalf("the run ended before the answer: %s", Show(<-done))
		}
		reply(t, h, a.ID, replies{"login": declined})
		WantValue(t, <-done, `"authorization_declined"`)
		if n := shop.Len(); n != 1 {
			t.Errorf("%d invocations", n)
		}
	})
}

// events are what a host tells.
type events chan trajectory.Event

func (c events) Record(e trajectory.Event) error {
	c <- e
	return nil
}

// TestQuestionsAreEvents: who answered is told. What was asked and answered is told only where bodies are
// recorded, redacted, and no address is.
func TestQuestionsAreEvents(t *testing.T) {
	for _, bodies := range []bool{false, true} {
		t.Run(fmt.Sprint("bodies ", bodies), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				size := sizeQuestion("a")
				size.Message = "Which size? The key is sk-proj-abcdefghijklmnop1234"
				link := codemode.Question{ID: "b", Kind: codemode.QuestionURL, Message: "Look.", URL: "https://shop.example/?state=s3cret"}
				told := make(events, 100)
				s := once("", size, link).setup()
				s.Config = func(c *run.Config) {
					o := observe.Options{Logger: c.Logger, Sink: told}
					if bodies {
						o.Bodies = &redact.Redactor{}
					}
					c.Observer = observe.New(o)
				}
				h := Start(t, s)
				done := h.Go(func(g *Guest) any { return g.Call("order", N(1)) })
				a := <-h.Asked
				reply(t, h, a.ID, replies{"a": {Action: codemode.AnswerAccept, Content: json.RawMessage(`{"size":"plum","password":"hunter2"}`)}, "b": {Action: codemode.AnswerAccept}})
				if r := <-done; r.Status != codemode.StatusCompleted {
					t.Fatal(Show(r))
				}
				h.Shut()
				close(told)
				var kinds, text string
				for e := range told {
					kinds += strings.TrimSpace(string(e.Kind)+" "+e.Decision+" "+e.By) + "\n"
					if e.Kind == trajectory.ApprovalRequested || e.Kind == trajectory.ApprovalDecided {
						text += string(e.Input) + string(e.Output)
					}
				}
				if want := "run_started\ncall_started\napproval_requested\napproval_decided answered alice\ncall_ended\nrun_ended\n"; kinds != want {
					t.Errorf("told %s\nwant %s", kinds, want)
				}
				for part, there := range map[string]bool{"Which size?": bodies, "plum": bodies, "abcdefghijklmnop1234": false, "hunter2": false, "s3cret": false} {
					if strings.Contains(text, part) != there {
						t.Errorf("%q is told: %v, want %v: %s", part, !there, there, text)
					}
				}
			})
		})
	}
}

// TestQuestionsSurviveTheHost, and are answered without a host, or with the next.
func TestQuestionsSurviveTheHost(t *testing.T) {
	const once7 = `{"state":7,"answers":{"login":{"action":"accept"}}}`
	accept := replies{"login": {Action: codemode.AnswerAccept}}
	for name, tt := range map[string]struct {
		apart func(t *testing.T, s policy.Approvals, id string) error // while there is no host
		after replies                                                 // in the second host
		want  string
		again int // invocations by the second host
	}{
		"answered before": {func(t *testing.T, s policy.Approvals, id string) error {
			_, err := policy.Answer(t.Context(), s, id, accept, "bob", time.Now())
			return err
		}, nil, once7, 1},
		"signed in before": {func(t *testing.T, s policy.Approvals, _ string) error {
			_, err := policy.AnswerAuthorization(t.Context(), s, "shop", nil, "login", time.Now())
			return err
		}, nil, once7, 1},
		"expired before": {func(t *testing.T, s policy.Approvals, _ string) error {
			return s.Sweep(t.Context(), time.Now().Add(time.Hour))
		}, nil, `["The call of \"order\" was given up: core asked a person, and had no answer in time.","input_expired","none","quoin:core:order"]`, 0},
		"answered afterwards": {nil, accept, once7, 1},
		"declined afterwards": {nil, replies{"login": declined},
			`["The call of \"order\" was not made: the sign-in to shop was declined.","authorization_declined","none","quoin:core:order"]`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				shop := once("7", signIn)
				s := kept(shop.setup())
				first := Start(t, s)
				id := WantWaiting(t, asked{first, t}.run(orders), codemode.ReasonApproval)
				first.Shut()
				a := <-first.Asked
				if tt.apart != nil {
					if err := tt.apart(t, s.Approvals, a.ID); err != nil {
						t.Fatal(err)
					}
				}
				second := Start(t, s)
				if tt.after != nil {
					WantWaiting(t, second.Wait(run.WithAskingCaller(t.Context()), Me, id, 0), codemode.ReasonApproval)
					reply(t, second, a.ID, tt.after)
				}
				r := second.Resume(id)
				WantValue(t, r, tt.want)
				if n := shop.Len(); n != 1+tt.again || len(second.Asked) != 0 || r.Telemetry.ApprovalCount != 1 {
					t.Errorf("%d invocations, %d more questions, telemetry %+v", n, len(second.Asked), r.Telemetry)
				}
			})
		})
	}
}
