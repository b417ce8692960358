package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/policy"
)

// TestSubjectsOfRules: what a rule lets a person choose, and what an allow-always
// is remembered for, by the part of the input that the rule names.
func TestSubjectsOfRules(t *testing.T) {
	t.Parallel()
	const long = 2 << 10
	for _, c := range []struct {
		name, path, params string
		allowed            []policy.Decision
		wantSubject        string
		wantAlways         bool
	}{
		{"nothing is named", "", `{"path":"a"}`, nil, "", false},
		{"allow-always is named", "", `{"path":"a"}`, []policy.Decision{policy.AllowAlways}, "", true},
		{"a path", "$.path", `{"path": "a b"}`, nil, `$.path = "a b"`, true},
		{"a path further in", "$.file.name", `{"file":{"name":{"x": 1}}}`, nil, `$.file.name = {"x":1}`, true},
		{"a number is no text", "$.n", `{"n":1}`, nil, `$.n = 1`, true},
		{"missing", "$.path", `{"other":"a"}`, nil, "", false},
		{"missing, and allow-always is named", "$.path", `{}`, []policy.Decision{policy.AllowOnce, policy.AllowAlways}, "", false},
		{"no object", "$.path", `[1]`, nil, "", false},
		{"too long", "$.path", `{"path":"` + strings.Repeat("x", long) + `"}`, nil, "", false},
		{"another spelling that some tools take for it", "$.path", `{"path":"a","PATH":"b"}`, nil, "", false},
		{"twice", "$.path", `{"path":"a","path":"b"}`, nil, "", false},
		{"another spelling alone", "$.path", `{"Path":"a"}`, nil, "", false},
		{"missing, and nothing else is allowed", "$.path", `{}`, []policy.Decision{policy.AllowAlways}, "", false},
		{"never", "$.path", `{"path":"a"}`, []policy.Decision{policy.AllowOnce}, `$.path = "a"`, false},
	} {
		rule := policy.ApprovalRule{Tools: []string{"*"}, SubjectPath: c.path, ApprovalRequest: policy.ApprovalRequest{Allowed: c.allowed}}
		h, err := rule.Hook("rule")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		in := call(c.params)
		v, err := h.Before(t.Context(), &in)
		if err != nil {
			t.Fatal(err)
		}
		a := v.Approval
		always := len(a.Allowed) == 0
		for _, d := range a.Allowed {
			always = always || d == policy.AllowAlways
		}
		if a.Subject != c.wantSubject || always != c.wantAlways {
			t.Errorf("%s: subject %q, always %v", c.name, a.Subject, always)
		}
	}
	for _, path := range []string{"path", "$", "$.", "$..a", "$.a[0]", "$.*", "$.a b", `$."a"`} {
		if _, err := (policy.ApprovalRule{Tools: []string{"*"}, SubjectPath: path}).Hook("rule"); err == nil || !strings.Contains(err.Error(), "$.file.name") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestGrantsExpire: a grant answers for as long as its request said, and is listed
// no longer.
func TestGrantsExpire(t *testing.T) {
	t.Parallel()
	for remember, life := range map[time.Duration]time.Duration{0: policy.DefaultRemember, time.Hour: time.Hour} {
		s := &policy.MemoryApprovals{}
		c := call(`{}`)
		asked := ask("guard", policy.ApprovalRequest{Remember: remember, Allowed: []policy.Decision{policy.AllowOnce, policy.AllowAlways, policy.Deny}})
		a := add(t, s, c, asked)
		if _, err := policy.Decide(t.Context(), s, a.ID, policy.AllowAlways, "ann", epoch); err != nil {
			t.Fatal(err)
		}
		for after, left := range map[time.Duration]int{0: 0, life - time.Second: 0, life: 1} {
			asks, _, err := policy.Unanswered(t.Context(), s, c, []policy.Ask{asked}, epoch.Add(after))
			if err != nil || len(asks) != left {
				t.Errorf("remembered for %v, after %v: %d asks left, %v", remember, after, len(asks), err)
			}
			grants, err := policy.LiveGrants(t.Context(), s, epoch.Add(after))
			if err != nil || len(grants) != 1-left {
				t.Errorf("remembered for %v, after %v: %d grants, %v", remember, after, len(grants), err)
			}
		}
	}
}

// TestWhatAlwaysCovers in words.
func TestWhatAlwaysCovers(t *testing.T) {
	t.Parallel()
	always := []policy.Decision{policy.AllowOnce, policy.AllowAlways, policy.Deny}
	for want, asks := range map[string][]policy.Ask{
		"every call of quoin:issues:issues_create, whatever its input, in the session k of the agent a for 30 days": {
			ask("one", policy.ApprovalRequest{Allowed: always})},
		`calls of quoin:issues:issues_create with $.a = 1 in the session k of the agent a for 1h0m0s`: {
			ask("one", policy.ApprovalRequest{Allowed: always, Subject: "$.a = 1", Remember: time.Hour})},
		`calls of quoin:issues:issues_create with $.a = 1 or $.b = 2 in the session k of the agent a for 2h0m0s`: {
			ask("one", policy.ApprovalRequest{Allowed: always, Subject: "$.a = 1", Remember: time.Hour}), ask("two", policy.ApprovalRequest{Allowed: always, Subject: "$.b = 2", Remember: 2 * time.Hour})},
		"every call of quoin:issues:issues_create, whatever its input, in the session k of the agent a for 2 days": {
			ask("one", policy.ApprovalRequest{Allowed: always, Subject: "$.a = 1", Remember: time.Hour}), ask("two", policy.ApprovalRequest{Allowed: always, Remember: 48 * time.Hour})},
		"calls of quoin:issues:issues_create with ls -l in the session k of the agent a for 1h0m0s": { // without what tells it apart
			ask("one", policy.ApprovalRequest{Allowed: always, Subject: "always:" + strings.Repeat("6c", 32) + " ls -l", Remember: time.Hour})},
		"": {ask("one", policy.ApprovalRequest{Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}})},
	} {
		a, err := policy.NewApproval(call(`{}`), asks, epoch)
		if err != nil || a.AlwaysCovers != want {
			t.Errorf("%q, %v; want %q", a.AlwaysCovers, err, want)
		}
	}
}
