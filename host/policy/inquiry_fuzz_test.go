package policy_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// FuzzInquiry: whatever a tool asks and a person answers, neither checker fails, and what
// was accepted is what is stored.
func FuzzInquiry(f *testing.F) {
	f.Add("a", "form", "Which size?", sizes, "", "accept", `{"size":"M"}`)
	f.Add("a", "url", "Look.", "", "https://shop.example/", "accept", "")
	f.Add("a", "authorization", "Sign in.", "", "", "decline", "")
	f.Add("a", "form", "", `{"type":"object","properties":{"x":{"$ref":"#"}}}`, "", "accept", `{"x":{"x":{}}}`)
	f.Add("a", "form", "", `{"type":"object","patternProperties":{"(a+)+$":{"type":"string"}}}`, "", "accept", `{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab":1}`)
	f.Fuzz(func(t *testing.T, id, kind, message, schema, url, action, content string) {
		q := codemode.Question{ID: id, Kind: codemode.QuestionKind(kind), From: "shop", Message: message, Schema: json.RawMessage(schema), URL: url}
		a, err := policy.NewInquiry(call(`{}`), []codemode.Question{q}, 0, epoch)
		if err != nil {
			return
		}
		var s policy.MemoryApprovals
		if err := s.Add(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		given := answers{id: {Action: codemode.AnswerAction(action), Content: json.RawMessage(content)}}
		got, err := policy.Answer(t.Context(), &s, a.ID, given, "ada", epoch)
		switch {
		case errors.Is(err, policy.ErrInvalidAnswer):
			if got.State != policy.StatePending {
				t.Fatalf("a bad answer left %s", got.State)
			}
			return
		case err != nil || got.State != policy.StateAnswered:
			t.Fatalf("%+v, %v", got, err)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatalf("an approval that cannot be stored: %v", err)
		}
		kept, err := s.Get(t.Context(), a.ID)
		if err != nil || string(kept.Answers[id].Content) != content || kept.CheckAnswers(kept.Answers) != nil {
			t.Fatalf("%+v, %v", kept, err)
		}
	})
}
