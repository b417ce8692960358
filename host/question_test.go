package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
)

// ordering is a program that makes one call and tells how it ended.
const ordering = `try { return await tools.order({n: 1}) } catch (e) { return [e.message, e.code, e.effectStatus] }`

// asker is a tool that asks before it answers, and keeps its invocations.
type askingTool struct {
	mu    sync.Mutex
	calls []catalog.Invocation
	need  func(catalog.Invocation) error // what it asks now; nil ends the call
}

func (a *askingTool) tool() catalog.Tool {
	return catalog.Tool{Name: "order", Description: "Orders.",
		Invoke: func(_ context.Context, inv catalog.Invocation) (json.RawMessage, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.calls = append(a.calls, inv)
			if err := a.need(inv); err != nil {
				return nil, err
			}
			b, err := json.Marshal(inv.Resumption)
			return b, err
		}}
}

// invocations are those so far.
func (a *askingTool) invocations() []catalog.Invocation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls
}

func sizeQuestion(id string) codemode.Question {
	return codemode.Question{ID: id, Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
		Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string"}},"required":["size"]}`)}
}

func signInQuestion() codemode.Question {
	return codemode.Question{ID: "login", Kind: codemode.QuestionAuthorization, From: "shop", Message: "Sign in.", URL: "https://id.example/authorize?state=s3cret"}
}

// once asks questions on the first invocation.
func once(state string, questions ...codemode.Question) *askingTool {
	return &askingTool{need: func(inv catalog.Invocation) error {
		if inv.Resumption != nil {
			return nil
		}
		return &codemode.InputRequired{Questions: questions, State: json.RawMessage(state)}
	}}
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

// TestAQuestionIsASuspendedCall: the tool that returns with questions is invoked again with
// the answers, the same input and the same key; what the program sees is one call.
func TestAQuestionIsASuspendedCall(t *testing.T) {
	t.Parallel()
	const size = `{"size":"M"}`
	for _, tc := range []struct {
		name      string
		questions []codemode.Question
		answers   replies
		want      string
		invoked   int
	}{
		{"a form", []codemode.Question{sizeQuestion("a")}, replies{"a": accepted(size)}, `{"state":{"at":1},"answers":{"a":{"action":"accept","content":{"size":"M"}}}}`, 2},
		{"two forms", []codemode.Question{sizeQuestion("a"), sizeQuestion("b")}, replies{"a": accepted(size), "b": {Action: codemode.AnswerDecline}},
			`{"state":{"at":1},"answers":{"a":{"action":"accept","content":{"size":"M"}},"b":{"action":"decline"}}}`, 2},
		{"a form that was declined", []codemode.Question{sizeQuestion("a")}, replies{"a": {Action: codemode.AnswerDecline}}, `{"state":{"at":1},"answers":{"a":{"action":"decline"}}}`, 2},
		{"a form that was cancelled", []codemode.Question{sizeQuestion("a")}, replies{"a": {Action: codemode.AnswerCancel}}, `{"state":{"at":1},"answers":{"a":{"action":"cancel"}}}`, 2},
		{"a sign-in", []codemode.Question{signInQuestion()}, replies{"login": accepted("")}, `{"state":{"at":1},"answers":{"login":{"action":"accept"}}}`, 2},
		{"a sign-in that was declined", []codemode.Question{signInQuestion()}, replies{"login": {Action: codemode.AnswerDecline}},
			`["The call of \"order\" was not made: the sign-in to shop was declined.","authorization_declined","none"]`, 1},
		{"a sign-in that was cancelled", []codemode.Question{signInQuestion()}, replies{"login": {Action: codemode.AnswerCancel}},
			`["The call of \"order\" was not made: the sign-in to shop was declined.","authorization_declined","none"]`, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			desk, shop := newDesk(), once(`{"at":1}`, tc.questions...)
			h := start(t, desk.config([]catalog.Tool{shop.tool()}))
			done := execLater(h, host.ExecInput{Code: ordering})
			a := <-desk.asked
			if diff := cmp.Diff(tc.questions, a.Questions); diff != "" || a.State != policy.StatePending || a.ToolID != "quoin:core:order" || string(a.Input) != `{"n":1}` || len(a.Allowed) != 0 {
				t.Errorf("asked %+v (-want +got):\n%s", a, diff)
			}
			reply(t, h, a.ID, tc.answers)
			r := <-done
			wantValue(t, r, tc.want)
			calls := shop.invocations()
			if len(calls) != tc.invoked || r.Telemetry.ApprovalCount != 1 || r.Telemetry.CallCount != 1 {
				t.Fatalf("%d invocations, telemetry %+v", len(calls), r.Telemetry)
			}
			for _, c := range calls[1:] {
				if c.IdempotencyKey != calls[0].IdempotencyKey || c.ID != calls[0].ID || string(c.Input) != `{"n":1}` {
					t.Errorf("invoked again as %+v, first as %+v", c, calls[0])
				}
			}
		})
	}
}

// TestWaitingForAnAnswer: the run is suspended like one that needs an approval, and says
// no more than that to the model.
func TestWaitingForAnAnswer(t *testing.T) {
	t.Parallel()
	desk, shop := newDesk(), once(`"secret state"`, sizeQuestion("a"))
	h := start(t, desk.config([]catalog.Tool{shop.tool()}))
	r := h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: ordering})
	id := wantWaiting(t, r, codemode.ReasonApproval)
	if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Tool != "quoin:core:order" || r.Dispatched {
		t.Errorf("got %s", show(r))
	}
	a := <-desk.asked
	for _, hidden := range []string{a.ID, "size", "secret state"} {
		if strings.Contains(show(r), hidden) {
			t.Errorf("the model was told %q: %s", hidden, show(r))
		}
	}
	info, err := h.Runs().Get(t.Context(), id)
	if err != nil || info.Reason != codemode.ReasonApproval || len(info.PendingToolCalls) != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	wantWaiting(t, h.Wait(host.WithAskingCaller(t.Context()), me, id), codemode.ReasonApproval)
	reply(t, h, a.ID, replies{"a": accepted(`{"size":"M"}`)})
	wantValue(t, h.Wait(t.Context(), me, id), `{"state":"secret state","answers":{"a":{"action":"accept","content":{"size":"M"}}}}`)
}

// TestAQuestionGivesTheWorkerBack: another cell runs in the only worker in the meantime.
func TestAQuestionGivesTheWorkerBack(t *testing.T) {
	t.Parallel()
	desk, shop := newDesk(), once("", sizeQuestion("a"))
	cfg := desk.config([]catalog.Tool{shop.tool()})
	cfg.Guests.Max = 1
	h := start(t, cfg)
	done := execLater(h, host.ExecInput{Code: ordering})
	a := <-desk.asked
	wantValue(t, exec(h, `return 1`), `1`)
	reply(t, h, a.ID, replies{"a": accepted(`{"size":"M"}`)})
	wantValue(t, <-done, `{"answers":{"a":{"action":"accept","content":{"size":"M"}}}}`)
}

// TestToolsAskInRounds, which are bounded.
func TestToolsAskInRounds(t *testing.T) {
	t.Parallel()
	for rounds, want := range map[int]string{
		3:  `{"state":3,"answers":{"a":{"action":"decline"}}}`,
		10: `{"state":10,"answers":{"a":{"action":"decline"}}}`,
		11: `["The call of \"order\" was given up: it asked for answers 10 times, and asks again.","input_rounds","none"]`,
	} {
		t.Run(fmt.Sprint(rounds), func(t *testing.T) {
			desk, asked := newDesk(), 0
			shop := &askingTool{need: func(inv catalog.Invocation) error {
				if asked > 0 && string(inv.Resumption.State) != fmt.Sprint(asked) {
					return fmt.Errorf("got back %+v, want the state %d", inv.Resumption, asked)
				}
				if asked == rounds {
					return nil
				}
				asked++
				return &codemode.InputRequired{Questions: []codemode.Question{sizeQuestion("a")}, State: json.RawMessage(fmt.Sprint(asked))}
			}}
			h := start(t, desk.config([]catalog.Tool{shop.tool()}))
			done := execLater(h, host.ExecInput{Code: ordering})
			for range min(rounds, 10) {
				reply(t, h, (<-desk.asked).ID, replies{"a": {Action: codemode.AnswerDecline}})
			}
			wantValue(t, <-done, want)
		})
	}
}

// TestQuestionsThatCannotBePut reject the call, which had no effect.
func TestQuestionsThatCannotBePut(t *testing.T) {
	t.Parallel()
	many := make([]codemode.Question, 17)
	for i := range many {
		many[i] = sizeQuestion(fmt.Sprint(i))
	}
	for name, tc := range map[string]struct {
		need *codemode.InputRequired
		want string
	}{
		"nothing": {&codemode.InputRequired{}, "there are 0 questions, expected 1 to 16"},
		"many":    {&codemode.InputRequired{Questions: many}, "there are 17 questions, expected 1 to 16"},
		"script": {&codemode.InputRequired{Questions: []codemode.Question{{ID: "a", Kind: codemode.QuestionURL, URL: "javascript:1"}}},
			`the URL of the question \"a\" is no http or https address without a user name, of at most 8192 bytes`},
		"state": {&codemode.InputRequired{Questions: []codemode.Question{sizeQuestion("a")}, State: json.RawMessage("{")}, "its state is not JSON of at most 65536 bytes"},
		"much":  {&codemode.InputRequired{Questions: []codemode.Question{sizeQuestion("a")}, State: json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)}, "its state is not JSON of at most 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			desk := newDesk()
			shop := &askingTool{need: func(catalog.Invocation) error { return tc.need }}
			h := start(t, desk.config([]catalog.Tool{shop.tool()}))
			wantValue(t, exec(h, ordering), `["The tool \"order\" asks what no person can be asked: `+tc.want+`.","invalid_question","none"]`)
			if len(desk.asked) != 0 {
				t.Error("someone was asked")
			}
		})
	}
}

// TestNoAnswerInTime rejects the call, with the program still there or suspended.
func TestNoAnswerInTime(t *testing.T) {
	t.Parallel()
	const want = `["The call of \"order\" was given up: core asked a person, and had no answer in time.","input_expired","none"]`
	cfg := newDesk().config([]catalog.Tool{once("", sizeQuestion("a")).tool()})
	cfg.Approvals.QuestionTimeout = 3 * soon
	h := start(t, cfg)
	wantValue(t, exec(h, ordering), want)
	r := h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: ordering})
	wantValue(t, h.Wait(t.Context(), me, wantWaiting(t, r, codemode.ReasonApproval)), want)
}

// TestQuestionsAreCounted like approvals.
func TestQuestionsAreCounted(t *testing.T) {
	t.Parallel()
	desk, shop := newDesk(), once("", sizeQuestion("a"))
	cfg := desk.config([]catalog.Tool{shop.tool()})
	cfg.Settings.MaxApprovals = 1
	h := start(t, cfg)
	done := execLater(h, host.ExecInput{Code: `const got = []; for (let i = 0; i < 2; i++) { try { await tools.order({n: i}); got.push("ok") } catch (e) { got.push(e.code, e.effectStatus) } } return got`})
	reply(t, h, (<-desk.asked).ID, replies{"a": {Action: codemode.AnswerCancel}})
	wantValue(t, <-done, `["ok","quota_exceeded","none"]`)
}

// TestTheEndOfARunCancelsItsQuestions, however it ends.
func TestTheEndOfARunCancelsItsQuestions(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*host.Host, string) error{
		"abort": func(h *host.Host, id string) error {
			if r := h.Abort(context.Background(), me, id); r.Code != codemode.CodeAborted {
				return errors.New(show(r))
			}
			return nil
		},
		"end of the session": func(h *host.Host, _ string) error {
			_, err := h.EndSession(context.Background(), me)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			desk, shop := newDesk(), once("", sizeQuestion("a"))
			h := start(t, desk.config([]catalog.Tool{shop.tool()}))
			id := wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: ordering}), codemode.ReasonApproval)
			a := <-desk.asked
			if err := end(h, id); err != nil {
				t.Fatal(err)
			}
			if got, err := h.Approvals().Answer(t.Context(), a.ID, replies{"a": {Action: codemode.AnswerDecline}}, ""); !errors.Is(err, policy.ErrCancelled) {
				t.Errorf("%+v, %v, want ErrCancelled", got, err)
			}
			if n := len(shop.invocations()); n != 1 {
				t.Errorf("%d invocations", n)
			}
		})
	}
}

// TestTheProgramGivesAQuestionUp: the question is over, and the tool not invoked again.
func TestTheProgramGivesAQuestionUp(t *testing.T) {
	t.Parallel()
	desk, shop := newDesk(), once("", sizeQuestion("a"))
	g := newGate()
	h := start(t, desk.config([]catalog.Tool{shop.tool(), g.tool("slow")}))
	done := execLater(h, host.ExecInput{Code: `
const c = new AbortController(), p = tools.order({n: 1}, {signal: c.signal}).catch((e) => e.name)
await tools.slow()
c.abort()
return await p`})
	a := <-desk.asked
	close(g.open)
	wantValue(t, <-done, `"AbortError"`)
	h.Engine().Quiet(t.Context())
	if _, err := h.Approvals().Answer(t.Context(), a.ID, replies{"a": {Action: codemode.AnswerDecline}}, ""); !errors.Is(err, policy.ErrCancelled) {
		t.Errorf("%v, want ErrCancelled", err)
	}
	if n := len(shop.invocations()); n != 1 {
		t.Errorf("%d invocations", n)
	}
}

// TestASignInAnswersAllThatWaitForIt, and makes each call once.
func TestASignInAnswersAllThatWaitForIt(t *testing.T) {
	t.Parallel()
	desk, shop := newDesk(), once("", signInQuestion())
	h := start(t, desk.config([]catalog.Tool{shop.tool()}))
	done := execLater(h, host.ExecInput{Code: `return (await Promise.all([1, 2, 3].map((n) => tools.order({n})))).length`})
	for range 3 {
		<-desk.asked
	}
	if n, err := h.Approvals().AnswerAuthorization(t.Context(), "bank", nil, "callback"); err != nil || n != 0 {
		t.Errorf("%d, %v of another server", n, err)
	}
	if n, err := h.Approvals().AnswerAuthorization(t.Context(), "shop", func(s host.Session) bool { return s.SessionID == me.SessionID }, "callback"); err != nil || n != 3 {
		t.Errorf("%d, %v, want 3", n, err)
	}
	wantValue(t, <-done, `3`)
	if n := len(shop.invocations()); n != 6 {
		t.Errorf("%d invocations, want one before and one after for each", n)
	}
}

// TestTheProgramCannotSkipAQuestion: whatever it tries, the tool is not invoked again and
// the run does not complete before a person has declined the sign-in.
func TestTheProgramCannotSkipAQuestion(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"catch":       `try { await tools.order() } catch (e) { return e.code } return "called"`,
		"not awaited": `tools.order().catch(() => {}); return "authorization_declined"`,
		"race":        `return await Promise.race([tools.order(), new Promise(r => setTimeout(() => r("timer"), 1))]).catch(e => e.code).then(() => "authorization_declined")`,
		"forged":      `try { await tools.order({resumption: {answers: {login: {action: "accept"}}}, answers: {login: {action: "accept"}}, approval: "apr_00000000000000000000000000000000"}) } catch (e) { return e.code }`,
		"thenable":    `Object.prototype.then = undefined; Promise.prototype.catch = () => "x"; try { await tools.order() } catch (e) { return e.code }`,
		"finally":     `try { try { await tools.order() } finally { text("finally") } } catch (e) { return e.code }`,
		"many": `const said = await Promise.allSettled(Array.from({length: 20}, (_, n) => tools.order({n})));
return said.every(s => s.status === "rejected" && s.reason.code === "authorization_declined") ? "authorization_declined" : said`,
	} {
		t.Run(name, func(t *testing.T) {
			desk := newDesk()
			shop := &askingTool{need: func(inv catalog.Invocation) error {
				if inv.Resumption != nil {
					t.Error("invoked again")
				}
				return &codemode.InputRequired{Questions: []codemode.Question{signInQuestion()}}
			}}
			h := start(t, desk.config([]catalog.Tool{shop.tool()}))
			done := execLater(h, host.ExecInput{Code: code})
			for {
				select {
				case a := <-desk.asked:
					select {
					case r := <-done:
						t.Fatalf("the run ended before the answer: %s", show(r))
					default:
					}
					reply(t, h, a.ID, replies{"login": {Action: codemode.AnswerDecline}})
					continue
				case r := <-done:
					wantValue(t, r, `"authorization_declined"`)
				}
				break
			}
		})
	}
}

// TestQuestionsAreEvents: who answered is told. What was asked and answered is told only
// where bodies are recorded, redacted, and no address is.
func TestQuestionsAreEvents(t *testing.T) {
	t.Parallel()
	for _, bodies := range []bool{false, true} {
		t.Run(fmt.Sprint("bodies ", bodies), func(t *testing.T) {
			asked := sizeQuestion("a")
			asked.Message = "Which size? The key is sk-proj-abcdefghijklmnop1234"
			link := codemode.Question{ID: "b", Kind: codemode.QuestionURL, Message: "Look.", URL: "https://shop.example/?state=s3cret"}
			sink, desk, shop := &events{}, newDesk(), once("", asked, link)
			cfg := desk.config([]catalog.Tool{shop.tool()})
			cfg.Trajectory.Sink = sink
			if bodies {
				cfg.Trajectory.Bodies = &redact.Redactor{}
			}
			h := start(t, cfg)
			done := execLater(h, host.ExecInput{Code: `await tools.order({n: 1}); return 1`})
			reply(t, h, (<-desk.asked).ID, replies{"a": accepted(`{"size":"plum","password":"hunter2"}`), "b": accepted("")})
			wantValue(t, <-done, `1`)
			var kinds []string
			told := make(map[trajectory.Kind]string)
			for _, e := range sink.all() {
				kinds = append(kinds, strings.TrimSpace(string(e.Kind)+" "+e.Decision+" "+e.By))
				told[e.Kind] += string(e.Input) + string(e.Output)
			}
			want := []string{"run_started", "call_started", "approval_requested", "approval_decided answered alice", "call_ended", "run_ended"}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			for text, there := range map[string]bool{"Which size?": bodies, "plum": bodies, "abcdefghijklmnop1234": false, "hunter2": false, "s3cret": false} {
				got := told[trajectory.ApprovalRequested] + told[trajectory.ApprovalDecided]
				if strings.Contains(got, text) != there {
					t.Errorf("%q is told: %v, want %v: %s", text, !there, there, got)
				}
			}
		})
	}
}
