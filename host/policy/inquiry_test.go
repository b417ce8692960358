package policy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

const sizes = `{"type":"object","properties":{"size":{"type":"string","enum":["S","M"]},"note":{"type":"string","maxLength":5}},"required":["size"]}`

func form(id string) codemode.Question {
	return codemode.Question{ID: id, Kind: codemode.QuestionForm, From: "shop", Message: "Which size?", Schema: json.RawMessage(sizes)}
}

func signIn(server string) codemode.Question {
	return codemode.Question{ID: "login", Kind: codemode.QuestionAuthorization, From: server, Message: "Sign in.", URL: "https://id.example/authorize?state=1"}
}

func accept(content string) codemode.QuestionAnswer {
	return codemode.QuestionAnswer{Action: codemode.AnswerAccept, Content: json.RawMessage(content)}
}

var accepted, declined = accept(""), codemode.QuestionAnswer{Action: codemode.AnswerDecline}

// inquire stores an approval that asks questions.
func inquire(t testing.TB, s policy.Approvals, c policy.Call, questions ...codemode.Question) *policy.Approval {
	t.Helper()
	a, err := policy.NewInquiry(c, questions, 0, epoch)
	if err == nil {
		err = s.Add(t.Context(), a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

type answers = map[string]codemode.QuestionAnswer

func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		answers answers
		want    string // of the error
	}{
		{"all", answers{"a": accept(`{"size":"S"}`), "b": declined}, ""},
		{"cancelled", answers{"a": {Action: codemode.AnswerCancel}, "b": declined}, ""},
		{"one is missing", answers{"a": declined}, `the question "b" has no answer`},
		{"nothing", nil, `the question "a" has no answer`},
		{"one too many", answers{"a": declined, "b": declined, "c": declined}, `there is no question "c"`},
		{"not an action", answers{"a": {Action: "yes"}, "b": declined}, `the action is "yes", expected accept, decline or cancel`},
		{"declined with content", answers{"a": {Action: codemode.AnswerDecline, Content: json.RawMessage(`{}`)}, "b": declined}, "there is content"},
		{"no content", answers{"a": accepted, "b": declined}, "there is no content, expected an object"},
		{"not JSON", answers{"a": accept(`{`), "b": declined}, "it is not valid JSON"},
		{"not UTF-8", answers{"a": accept("\"\xff\""), "b": declined}, "not JSON in UTF-8"},
		{"not an object", answers{"a": accept(`[]`), "b": declined}, "object"},
		{"not a choice", answers{"a": accept(`{"size":"L"}`), "b": declined}, "size"},
		{"required", answers{"a": accept(`{}`), "b": declined}, "size"},
		{"too long for its field", answers{"a": accept(`{"size":"S","note":"123456"}`), "b": declined}, "note"},
		{"too large", answers{"a": accept(`{"size":"S","more":"` + strings.Repeat("x", 64<<10) + `"}`), "b": declined}, "at most 65536 fit"},
		{"a wild number", answers{"a": accept(`{"size":"S","n":1e999999999}`), "b": declined}, "exponent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stores(t, func(t *testing.T, one, other policy.Approvals) {
				a := inquire(t, one, call(`{"n":1}`), form("a"), form("b"))
				got, err := policy.Answer(t.Context(), other, a.ID, tc.answers, "ada", epoch)
				if tc.want != "" {
					if !errors.Is(err, policy.ErrInvalidAnswer) || !strings.Contains(err.Error(), tc.want) || got.State != policy.StatePending {
						t.Errorf("%+v, %v, want %q", got, err, tc.want)
					}
					return
				}
				if err != nil || got.State != policy.StateAnswered || got.By != "ada" || !got.Decided.Equal(epoch) {
					t.Fatalf("%+v, %v", got, err)
				}
				kept, err := one.Get(t.Context(), a.ID)
				if diff := cmp.Diff(tc.answers, kept.Answers); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				list, err := policy.Select(t.Context(), other, policy.Filter{Resolved: true}, epoch)
				if err != nil || len(list) != 1 {
					t.Fatalf("%v, %v", list, err)
				}
				for _, shown := range []*policy.Approval{got, list[0]} {
					for id, answer := range shown.Answers {
						if len(answer.Content) > 0 || answer.Action != tc.answers[id].Action {
							t.Errorf("the answer %s is shown as %+v, want its action alone", id, answer)
						}
					}
				}
			})
		})
	}
}

// TestAnswersCountOnce: the first answers count, the same ones again are no error.
func TestAnswersCountOnce(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		a := inquire(t, one, call(`{}`), form("a"))
		for _, content := range []string{`{"size":"S"}`, `{ "size" : "S" }`} {
			if _, err := policy.Answer(t.Context(), other, a.ID, answers{"a": accept(content)}, "ada", epoch); err != nil {
				t.Errorf("%s: %v", content, err)
			}
		}
		for _, more := range []answers{{"a": accept(`{"size":"M"}`)}, {"a": declined}} {
			if got, err := policy.Answer(t.Context(), one, a.ID, more, "bob", epoch); !errors.Is(err, policy.ErrDecided) || got.By != "ada" {
				t.Errorf("%+v, %v, want ErrDecided", got, err)
			}
		}
		if _, err := policy.Decide(t.Context(), one, a.ID, policy.AllowOnce, "bob", epoch); !errors.Is(err, policy.ErrNotAllowed) {
			t.Errorf("a decision about questions: %v", err)
		}
		if _, err := policy.AllowEdited(t.Context(), one, a.ID, json.RawMessage(`{}`), "bob", epoch); !errors.Is(err, policy.ErrNotAllowed) {
			t.Errorf("an edited input of questions: %v", err)
		}
		late := inquire(t, one, call(`{}`), form("a"))
		if got, err := policy.Answer(t.Context(), one, late.ID, answers{"a": declined}, "bob", late.Expires); !errors.Is(err, policy.ErrExpired) || got.State != policy.StateExpired {
			t.Errorf("too late: %+v, %v", got, err)
		}
		over := inquire(t, one, call(`{}`), form("a"))
		if _, err := one.Resolve(t.Context(), over.ID, policy.Resolution{State: policy.StateCancelled, At: epoch}); err != nil {
			t.Fatal(err)
		}
		if _, err := policy.Answer(t.Context(), one, over.ID, answers{"a": declined}, "bob", epoch); !errors.Is(err, policy.ErrCancelled) {
			t.Errorf("of a run that has ended: %v", err)
		}
		if _, err := policy.Answer(t.Context(), one, add(t, one, call(`{}`)).ID, answers{"a": declined}, "bob", epoch); !errors.Is(err, policy.ErrNotAllowed) {
			t.Errorf("answers where a decision is asked: %v", err)
		}
	})
}

// TestInquiriesAreBounded: what tools ask is hostile.
func TestInquiriesAreBounded(t *testing.T) {
	t.Parallel()
	with := func(change func(*codemode.Question)) []codemode.Question {
		q := form("a")
		change(&q)
		return []codemode.Question{q}
	}
	schema := func(s string) []codemode.Question {
		return with(func(q *codemode.Question) { q.Schema = json.RawMessage(s) })
	}
	link := func(url string) []codemode.Question {
		return []codemode.Question{{ID: "a", Kind: codemode.QuestionURL, From: "shop", URL: url}}
	}
	field := func(s string) []codemode.Question {
		return schema(`{"type":"object","properties":{"x":` + s + `}}`)
	}
	many := func(n int) (out []codemode.Question) {
		for i := range n {
			out = append(out, form(strings.Repeat("a", i+1)))
		}
		return out
	}
	for name, tc := range map[string]struct {
		questions []codemode.Question
		ok        bool
	}{
		"none":                  {nil, false},
		"sixteen":               {many(16), true},
		"seventeen":             {many(17), false},
		"no id":                 {with(func(q *codemode.Question) { q.ID = "" }), false},
		"a long id":             {with(func(q *codemode.Question) { q.ID = strings.Repeat("a", 129) }), false},
		"an id that hides":      {with(func(q *codemode.Question) { q.ID = "a\u202e" }), false},
		"two of one id":         {[]codemode.Question{form("a"), form("a")}, false},
		"no kind":               {with(func(q *codemode.Question) { q.Kind = "" }), false},
		"a form with a URL":     {with(func(q *codemode.Question) { q.URL = "https://a.example" }), false},
		"no schema":             {schema(""), false},
		"no object":             {schema(`{"type":"string"}`), false},
		"an empty form":         {schema(`{"type":"object","properties":{}}`), true},
		"a large schema":        {schema(`{"type":"object","description":"` + strings.Repeat("x", 64<<10) + `"}`), false},
		"not a schema":          {schema(`{"type":"object","required":7}`), false},
		"an outside reference":  {schema(`{"type":"object","allOf":[{"$ref":"file:///etc/passwd"}]}`), false},
		"a nested field":        {field(`{"type":"object"}`), false},
		"a list":                {field(`{"type":"array","items":{"type":"string"}}`), false},
		"several choices":       {field(`{"type":"array","items":{"type":"string","enum":["a"]}}`), true},
		"titled choices":        {field(`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`), true},
		"a bare choice":         {field(`{"enum":["a"]}`), true},
		"a bare field":          {field(`{}`), false},
		"no field":              {field(`7`), false},
		"a link":                {link("https://a.example/x?y=z"), true},
		"no link":               {link(""), false},
		"a script":              {link("javascript:alert(1)"), false},
		"a file":                {link("file:///etc/passwd"), false},
		"a user name":           {link("https://bank.example@evil.example/"), false},
		"a hidden turn":         {link("https://a.example/\u202egpj.exe"), false},
		"a long link":           {link("https://a.example/" + strings.Repeat("x", 8<<10)), false},
		"sign in":               {[]codemode.Question{signIn("shop")}, true},
		"sign in without link":  {[]codemode.Question{{ID: "a", Kind: codemode.QuestionAuthorization, From: "shop", Message: "quoin mcp login shop"}}, true},
		"sign in and something": {[]codemode.Question{signIn("shop"), form("a")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := policy.NewInquiry(call(`{}`), tc.questions, 0, epoch); (err == nil) != tc.ok {
				t.Errorf("%v, want it to be fine: %v", err, tc.ok)
			}
		})
	}
	a, err := policy.NewInquiry(call(`{}`), with(func(q *codemode.Question) {
		q.Message, q.From = "\x1b[2J\u202e"+strings.Repeat("x", 10_000), "sh\x07op"
	}), 48*time.Hour, epoch)
	if err != nil || a.Expires.Sub(epoch) != policy.MaxApprovalTimeout || len(a.Questions[0].Message) > 8<<10 || strings.ContainsAny(a.Questions[0].Message+a.Title, "\x1b\u202e\x07") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAnswerAuthorization(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		mine, yours := call(`{}`), call(`{}`)
		yours.Session = codemode.Session{SessionID: "yours"}
		waiting, foreign := inquire(t, one, mine, signIn("shop")), inquire(t, one, yours, signIn("shop"))
		inquire(t, one, mine, signIn("bank"))
		inquire(t, one, mine, form("a"))
		add(t, one, mine)
		owns := func(s codemode.Session) bool { return s == mine.Session }
		n, err := policy.AnswerAuthorization(t.Context(), other, "shop", owns, "callback", epoch)
		if err != nil || n != 1 {
			t.Fatalf("%d, %v, want one answered", n, err)
		}
		for a, want := range map[*policy.Approval]policy.State{waiting: policy.StateAnswered, foreign: policy.StatePending} {
			if got, err := one.Get(t.Context(), a.ID); err != nil || got.State != want {
				t.Errorf("%+v, %v, want %s", got, err, want)
			}
		}
		if n, err := policy.AnswerAuthorization(t.Context(), other, "shop", nil, "callback", epoch); err != nil || n != 1 {
			t.Errorf("all sessions: %d, %v, want the other one", n, err)
		}
		if list, err := policy.Select(t.Context(), one, policy.Filter{}, epoch); err != nil || len(list) != 3 {
			t.Errorf("%d wait, %v, want the three of which none is a sign-in to the shop", len(list), err)
		}
	})
}

func TestAllowEdited(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"integer","maximum":10}},"required":["n"]}`
	edited := func(t *testing.T, s policy.Approvals, id, input string) (*policy.Approval, error) {
		t.Helper()
		return policy.AllowEdited(t.Context(), s, id, json.RawMessage(input), "ada", epoch)
	}
	editable := func(t *testing.T, s policy.Approvals) *policy.Approval {
		t.Helper()
		a, err := policy.NewApproval(call(`{"n":1}`), []policy.Ask{ask("guard", policy.ApprovalRequest{})}, epoch)
		if err == nil {
			a.SetInputSchema(json.RawMessage(schema))
			err = s.Add(t.Context(), a)
		}
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		a := editable(t, one)
		for _, bad := range []string{`{"n":11}`, `{}`, `[]`, `{`, "", "\"\xff\"", `{"n":1,"x":"` + strings.Repeat("x", 64<<10) + `"}`} {
			if got, err := edited(t, other, a.ID, bad); !errors.Is(err, policy.ErrInvalidAnswer) || got.State != policy.StatePending {
				t.Errorf("%.40s: %+v, %v, want ErrInvalidAnswer", bad, got, err)
			}
		}
		got, err := edited(t, other, a.ID, `{"n":2}`)
		if err != nil || got.State != policy.StateAllowed || got.Decision != policy.AllowOnce || string(got.EditedInput) != `{"n":2}` || string(got.Input) != `{"n":1}` {
			t.Fatalf("%+v, %v", got, err)
		}
		kept, err := one.Get(t.Context(), a.ID)
		if err != nil || !kept.Covers("run_1", "bridge:call:1", a.ToolID, json.RawMessage(`{"n":2}`)) || kept.Covers("run_1", "bridge:call:1", a.ToolID, json.RawMessage(`{"n":3}`)) {
			t.Errorf("%+v, %v", kept, err)
		}
		if _, err := edited(t, one, a.ID, `{"n":2}`); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if _, err := edited(t, one, a.ID, `{"n":3}`); !errors.Is(err, policy.ErrDecided) {
			t.Errorf("another input: %v", err)
		}
		for _, d := range []policy.Decision{policy.AllowOnce, policy.AllowAlways, policy.Deny} {
			if _, err := policy.Decide(t.Context(), one, a.ID, d, "bob", epoch); !errors.Is(err, policy.ErrDecided) {
				t.Errorf("%s after an edited input: %v", d, err)
			}
		}
		same := editable(t, one)
		if got, err := edited(t, one, same.ID, `{"n":1}`); err != nil || got.EditedInput != nil || got.Decision != policy.AllowOnce {
			t.Errorf("the input as it was: %+v, %v", got, err)
		}
		if _, err := edited(t, one, add(t, one, call(`{"n":1}`)).ID, `{"n":2}`); !errors.Is(err, policy.ErrNotAllowed) {
			t.Errorf("without a schema: %v", err)
		}
	})
}

// TestOlderApprovalsAreRead: files of a version that knew no questions are what they were.
func TestOlderApprovalsAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, write := openApprovals(t, dir), sealed(t, dir)
	const id = "apr_00112233445566778899aabbccddeeff"
	write(id, ".ask", map[string]any{
		"id": id, "state": "pending", "title": "Sure?", "severity": "warning", "kind": "tool", "toolId": "quoin:core:echo", "toolName": "echo",
		"input": map[string]int{"n": 1}, "inputBytes": 7, "inputSha256": "00", "session": map[string]string{"sessionId": "s"}, "runId": "run_1", "callId": "bridge:call:1",
		"asked":            []map[string]string{{"hook": "guard", "severity": "warning"}},
		"allowedDecisions": []string{"allow-once", "deny"}, "created": epoch, "expires": epoch.Add(time.Hour),
	})
	if _, err := policy.AllowEdited(t.Context(), s, id, json.RawMessage(`{"n":2}`), "ada", epoch); !errors.Is(err, policy.ErrNotAllowed) {
		t.Errorf("an input whose schema is not known was edited: %v", err)
	}
	write(id, ".done", map[string]any{"state": "allowed", "decision": "allow-once", "by": "ada", "at": epoch})
	got, err := s.Get(t.Context(), id)
	if err != nil || got.State != policy.StateAllowed || got.By != "ada" || got.Questions != nil || got.EditedInput != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestHostsOfLinksAreShownAsTheyAre: letters that look like others do not stand in a link.
func TestHostsOfLinksAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://example.com/a?b=c": "https://example.com/a?b=c", "https://\u0430pple.com:8443/\u0430?q=\u0430": "https://xn--pple-43d.com:8443/\u0430?q=\u0430", "http://[::1]:80/x": "http://[::1]:80/x", "https://%D0%B0pple.com/": "",
	} {
		a, err := policy.NewInquiry(call(`{}`), []codemode.Question{{ID: "a", Kind: codemode.QuestionURL, From: "shop", URL: url}}, 0, epoch)
		if want == "" {
			if err == nil {
				t.Errorf("%s is shown as %s", url, a.Questions[0].URL)
			}
			continue
		}
		if err != nil || a.Questions[0].URL != want {
			t.Errorf("%s: %v, %v", url, a, err)
		}
	}
}
