package policy_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/documents"
)

// TestARewriteEndsWhatSubjectsStandFor: a hook took its subject from the parameters
// that it saw. If a later hook rewrites them, allow-always for that subject would be
// remembered for something else, and an older one would answer for it.
func TestARewriteEndsWhatSubjectsStandFor(t *testing.T) {
	t.Parallel()
	rewrite := func(to string) policy.Hook {
		return says("rewrite", policy.Verdict{Params: json.RawMessage(to)})
	}
	asks := func(name, subject string, allowed ...policy.Decision) policy.Hook {
		return says(name, policy.Verdict{Approval: &policy.ApprovalRequest{Subject: subject, Allowed: allowed}})
	}
	for _, tc := range []struct {
		name  string
		hooks []policy.Hook
		want  []bool // may each ask be answered for good
	}{
		{"no rewrite", []policy.Hook{asks("a", "s")}, []bool{true}},
		{"before the subject", []policy.Hook{rewrite(`{"n":2}`), asks("a", "s")}, []bool{true}},
		{"behind the subject", []policy.Hook{asks("a", "s"), rewrite(`{"n":2}`)}, []bool{false}},
		{"between two", []policy.Hook{asks("a", "s"), rewrite(`{"n":2}`), asks("b", "s")}, []bool{false, true}},
		{"to the same", []policy.Hook{asks("a", "s"), rewrite(`{"n":1}`)}, []bool{true}},
		{"without a subject", []policy.Hook{asks("a", ""), rewrite(`{"n":2}`)}, []bool{true}},
		{"a list of its own", []policy.Hook{asks("a", "s", policy.AllowAlways, policy.Deny, policy.AllowOnce), rewrite(`{"n":2}`)}, []bool{false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := before(t, tc.hooks...)
			if r.Block != nil || len(r.Asks) != len(tc.want) {
				t.Fatalf("ruling %+v", r)
			}
			for i, ask := range r.Asks {
				if got := slices.Contains(ask.Allowed, policy.AllowAlways); got != tc.want[i] {
					t.Errorf("ask %d of %q may be answered for good: %v", i+1, ask.Subject, got)
				}
				if !slices.Contains(ask.Allowed, policy.AllowOnce) || !slices.Contains(ask.Allowed, policy.Deny) {
					t.Errorf("ask %d allows %q", i+1, ask.Allowed)
				}
			}
		})
	}
}

// TestAnOlderGrantDoesNotAnswerARewrittenCall: the person allowed the subject, and the
// parameters do not belong to the subject any more.
func TestAnOlderGrantDoesNotAnswerARewrittenCall(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), &policy.MemoryApprovals{}
	guard := says("guard", policy.Verdict{Approval: &policy.ApprovalRequest{Subject: "git status"}})
	a := add(t, s, call(`{"n":1}`), before(t, guard).Asks...)
	if _, err := policy.Decide(ctx, s, a.ID, policy.AllowAlways, "", epoch); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		hooks []policy.Hook
		left  int
	}{
		"as it was":     {[]policy.Hook{guard}, 0},
		"rewritten":     {[]policy.Hook{guard, says("rewrite", policy.Verdict{Params: json.RawMessage(`{"n":2}`)})}, 1},
		"not rewritten": {[]policy.Hook{guard, says("look", policy.Verdict{})}, 0},
	} {
		if left, _, err := policy.Unanswered(ctx, s, call(`{"n":1}`), before(t, tc.hooks...).Asks, epoch); err != nil || len(left) != tc.left {
			t.Errorf("%s: %v, %d asks left, want %d", name, err, len(left), tc.left)
		}
	}
}

// TestWhomAGrantIsFor: of a caller's identity the narrowest name that lasts beyond one
// turn counts, and only callers that have the same one share a grant.
func TestWhomAGrantIsFor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	callers := map[string]codemode.Session{
		"a key":               {AgentID: "a", SessionKey: "x"},
		"a session":           {AgentID: "a", SessionID: "x"},
		"an agent":            {AgentID: "a"},
		"another agent's key": {AgentID: "b", SessionKey: "x"},
		"a key of no agent":   {SessionKey: "x"},
		"a session of none":   {SessionID: "x"},
		"another agent":       {AgentID: "x"},
	}
	asks := []policy.Ask{ask("guard", policy.ApprovalRequest{})}
	of := func(s codemode.Session) policy.Call {
		c := call(`{}`)
		c.Session = s
		return c
	}
	for name, owner := range callers {
		s := &policy.MemoryApprovals{}
		a := add(t, s, of(owner), asks...)
		if _, err := policy.Decide(ctx, s, a.ID, policy.AllowAlways, "", epoch); err != nil {
			t.Fatal(err)
		}
		for other, caller := range callers {
			caller.TurnID = "another turn"
			left, _, err := policy.Unanswered(ctx, s, of(caller), asks, epoch)
			if err != nil || (len(left) == 0) != (name == other) {
				t.Errorf("%s was allowed for good; %s: %v, %d asks left", name, other, err, len(left))
			}
		}
	}
}

// TestAGrantDoesNotVouchForARewrittenCall: the tool is not told that a person has allowed
// the subject, which is not what it is called with.
func TestAGrantDoesNotVouchForARewrittenCall(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), &policy.MemoryApprovals{}
	asks := []policy.Ask{ask("guard", policy.ApprovalRequest{Subject: "git status"})}
	a := add(t, s, call(`{}`), asks...)
	if _, err := policy.Decide(ctx, s, a.ID, policy.AllowAlways, "", epoch); err != nil {
		t.Fatal(err)
	}
	for rewritten, vouchers := range map[bool]int{false: 1, true: 0} {
		asks[0].Rewritten = rewritten
		left, answers, err := policy.Unanswered(ctx, s, call(`{}`), asks, epoch)
		if err != nil || len(left) != 0 || len(answers) != vouchers {
			t.Errorf("rewritten %v: %d asks left, answers %+v, %v", rewritten, len(left), answers, err)
		}
	}
}

// lockedDocs notes what is written without its lock.
type lockedDocs struct {
	documents.Store
	unlocked []string
}

type lockOf struct{}

func (d *lockedDocs) Lock(ctx context.Context, name string) (context.Context, func(), error) {
	held, unlock, err := d.Store.Lock(ctx, name)
	return context.WithValue(held, lockOf{}, name), unlock, err
}

func (d *lockedDocs) Replace(ctx context.Context, name string, content []byte, expires time.Time) error {
	if lock, _ := ctx.Value(lockOf{}).(string); lock == "" || !strings.HasPrefix(name, lock) {
		d.unlocked = append(d.unlocked, name)
	}
	return d.Store.Replace(ctx, name, content, expires)
}

// TestAGrantIsWrittenUnderItsLock: a move that is carrying it would put back what it has read.
func TestAGrantIsWrittenUnderItsLock(t *testing.T) {
	t.Parallel()
	dir, err := documents.OpenDir(t.TempDir(), documents.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	docs := &lockedDocs{Store: dir}
	s := policy.NewStoredApprovals(docs)
	asks := []policy.Ask{ask("guard", policy.ApprovalRequest{Subject: "git status"})}
	a := add(t, s, call(`{}`), asks...)
	if _, err := policy.Decide(t.Context(), s, a.ID, policy.AllowAlways, "", epoch); err != nil {
		t.Fatal(err)
	}
	if left, _, err := policy.Unanswered(t.Context(), s, call(`{}`), asks, epoch); err != nil || len(left) != 0 || len(docs.unlocked) != 0 {
		t.Errorf("%d asks left, %v; written without a lock: %q", len(left), err, docs.unlocked)
	}
}
