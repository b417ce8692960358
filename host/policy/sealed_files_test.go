package policy_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// sealed writes files as another version of this installation could have.
func sealed(t *testing.T, dir string) func(name, ext string, content any) {
	t.Helper()
	runs, err := runstore.OpenDir(filepath.Join(dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	return func(name, ext string, content any) {
		t.Helper()
		b, err := json.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "approvals", name+ext), runs.Sealer("approvals").Seal(name+ext, b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAResolutionMustMakeSense: the seal says who wrote it, and not that it is one of
// the ways in which an approval can end. Anything else allows nothing.
func TestAResolutionMustMakeSense(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, write := openApprovals(t, dir), sealed(t, dir)
	for _, state := range []policy.State{policy.StateAllowed, policy.StateDenied, policy.StateExpired, policy.StateCancelled, policy.StatePending, "", "granted"} {
		for _, decision := range []policy.Decision{policy.AllowOnce, policy.AllowAlways, policy.Deny, "", "maybe"} {
			sound := state == policy.StateAllowed && (decision == policy.AllowOnce || decision == policy.AllowAlways) ||
				state == policy.StateDenied && decision == policy.Deny ||
				(state == policy.StateExpired || state == policy.StateCancelled) && decision == ""
			a := add(t, s, call(`{}`))
			write(a.ID, ".done", policy.Resolution{State: state, Decision: decision, At: epoch})
			got, err := s.Get(t.Context(), a.ID)
			switch {
			case sound && (err != nil || got.State != state || got.Decision != decision):
				t.Errorf("%q with the decision %q: %+v, %v", state, decision, got, err)
			case !sound && !errors.Is(err, policy.ErrCorrupt):
				t.Errorf("%q with the decision %q: %+v, %v, want ErrCorrupt", state, decision, got, err)
			}
		}
	}
}

// TestAResolutionWithAnswersMustMakeSense: answers end questions alone, and only a call
// that is allowed once has another input.
func TestAResolutionWithAnswersMustMakeSense(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, write := openApprovals(t, dir), sealed(t, dir)
	given, edited := answers{"a": declined}, json.RawMessage(`{}`)
	for _, tc := range []struct {
		r     policy.Resolution
		sound bool
	}{
		{policy.Resolution{State: policy.StateAnswered, Answers: given}, true},
		{policy.Resolution{State: policy.StateAnswered}, false},
		{policy.Resolution{State: policy.StateAnswered, Answers: given, Decision: policy.AllowOnce}, false},
		{policy.Resolution{State: policy.StateAnswered, Answers: given, Input: edited}, false},
		{policy.Resolution{State: policy.StateAllowed, Decision: policy.AllowOnce, Input: edited}, true},
		{policy.Resolution{State: policy.StateAllowed, Decision: policy.AllowOnce, Answers: given}, false},
		{policy.Resolution{State: policy.StateAllowed, Decision: policy.AllowAlways, Input: edited}, false},
		{policy.Resolution{State: policy.StateDenied, Decision: policy.Deny, Input: edited}, false},
		{policy.Resolution{State: policy.StateExpired, Answers: given}, false},
		{policy.Resolution{State: policy.StateCancelled, Input: edited}, false},
	} {
		a := add(t, s, call(`{}`))
		write(a.ID, ".done", tc.r)
		if _, err := s.Get(t.Context(), a.ID); tc.sound != (err == nil) || err != nil && !errors.Is(err, policy.ErrCorrupt) {
			t.Errorf("%+v: %v, want it to be sound: %v", tc.r, err, tc.sound)
		}
	}
}

// TestAStoredApprovalMustMakeSense: a file is no approval if it is decided already, if
// no decision could end it, or if it is the approval of another id.
func TestAStoredApprovalMustMakeSense(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, write := openApprovals(t, dir), sealed(t, dir)
	for name, change := range map[string]func(*policy.Approval){
		"decided":                 func(a *policy.Approval) { a.State = policy.StateAllowed },
		"without a state":         func(a *policy.Approval) { a.State = "" },
		"of an unknown severity":  func(a *policy.Approval) { a.Severity = "harmless" },
		"that allows no decision": func(a *policy.Approval) { a.Allowed = nil },
		"with another's id":       func(a *policy.Approval) { a.ID = "apr_" + strings.Repeat("0", 32) },
	} {
		t.Run(name, func(t *testing.T) {
			a := add(t, s, call(`{}`))
			id := a.ID
			change(a)
			write(id, ".ask", a)
			if got, err := s.Get(t.Context(), id); !errors.Is(err, policy.ErrCorrupt) {
				t.Errorf("got %+v, %v", got, err)
			}
			if _, err := policy.Decide(t.Context(), s, id, policy.AllowOnce, "", epoch); !errors.Is(err, policy.ErrCorrupt) {
				t.Errorf("Decide: %v", err)
			}
		})
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("listed: %+v, %v", list, err)
	}
	// They are the operator's: a sweep neither removes them nor fails.
	if err := s.Sweep(t.Context(), epoch.Add(48*time.Hour)); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "approvals", "*.ask"))
	if err != nil || len(left) != 5 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// TestAGrantMustMakeSense: one that cannot be read answers nothing, and the call that
// it would have answered is refused rather than made.
func TestAGrantMustMakeSense(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, write := openApprovals(t, dir), sealed(t, dir)
	a := add(t, s, call(`{}`))
	if _, err := policy.Decide(t.Context(), s, a.ID, policy.AllowAlways, "", epoch); err != nil {
		t.Fatal(err)
	}
	grants, err := s.Grants(t.Context())
	if err != nil || len(grants) != 1 {
		t.Fatalf("%v, %d grants", err, len(grants))
	}
	asks := []policy.Ask{ask("guard", policy.ApprovalRequest{Title: "Sure?"})}
	if left, _, err := policy.Unanswered(t.Context(), s, call(`{}`), asks, epoch); err != nil || len(left) != 0 {
		t.Fatalf("a sound grant: %v, %d asks left", err, len(left))
	}
	for name, change := range map[string]func(*policy.Grant){
		"of an unknown severity": func(g *policy.Grant) { g.Severity = "any" },
		"with another's id":      func(g *policy.Grant) { g.ID = "grt_" + strings.Repeat("0", 32) },
	} {
		t.Run(name, func(t *testing.T) {
			bad := *grants[0]
			change(&bad)
			write(grants[0].ID, ".grant", bad)
			if left, _, err := policy.Unanswered(t.Context(), s, call(`{}`), asks, epoch); !errors.Is(err, policy.ErrCorrupt) {
				t.Errorf("%d asks left, %v, want ErrCorrupt", len(left), err)
			}
			if list, err := s.Grants(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("listed: %+v, %v", list, err)
			}
		})
	}
}

// TestWhatWasRevokedDoesNotComeBack: who can write where approvals are kept may put a grant back, which is sealed. It
// answers nothing; a grant that is given later does.
func TestWhatWasRevokedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openApprovals(t, dir)
	g := policy.Grant{ID: "grt_" + strings.Repeat("0", 32), ToolID: "t", Hook: "h", Severity: policy.SeverityInfo, Created: time.Now().Add(-time.Hour), Expires: time.Now().Add(time.Hour)}
	if err := s.Remember(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "approvals", g.ID+".grant")
	row, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(t.Context(), g.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := os.WriteFile(file, row, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Grant(t.Context(), g.ID); !errors.Is(err, policy.ErrNotFound) {
			t.Errorf("%+v, %v", got, err)
		}
		if all, err := s.Grants(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
		if err := s.Forget(t.Context(), g.ID); err != nil {
			t.Errorf("it cannot be removed: %v", err)
		}
		if err := s.Sweep(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
	}
	again := g
	again.Created = time.Now().Add(time.Minute)
	if err := s.Remember(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Grant(t.Context(), g.ID); err != nil {
		t.Errorf("a later decision: %v", err)
	}
	if err := errors.Join(s.Sweep(t.Context(), time.Now().Add(2*time.Hour)), s.Forget(t.Context(), g.ID)); err != nil {
		t.Error(err)
	}
	gone, err := filepath.Glob(filepath.Join(dir, "approvals", "*.gone"))
	if err != nil || len(gone) != 1 {
		t.Errorf("%q, %v", gone, err)
	}
	if err := s.Sweep(t.Context(), time.Now().Add(2*time.Hour)); err != nil {
		t.Error(err)
	}
	if gone, err = filepath.Glob(filepath.Join(dir, "approvals", "*.gone")); err != nil || len(gone) != 0 {
		t.Errorf("%q, %v", gone, err)
	}
}
