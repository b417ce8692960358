package policy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/policy"
)

// TestAStoreThatCannotWriteAllowsNothing: what could not be stored has not been asked,
// decided or remembered, and each caller is told so.
func TestAStoreThatCannotWriteAllowsNothing(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	s := openApprovals(t, dir)
	a := add(t, s, call(`{}`))
	path := filepath.Join(dir, "approvals")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	fresh, err := policy.NewApproval(call(`{}`), []policy.Ask{ask("guard", policy.ApprovalRequest{})}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	_, listerr := s.List(ctx)
	_, grantserr := s.Grants(ctx)
	_, deciderr := policy.Decide(ctx, s, a.ID, policy.AllowOnce, "", epoch)
	for what, err := range map[string]error{
		"Add":      s.Add(ctx, fresh),
		"List":     listerr,
		"Decide":   deciderr,
		"Remember": s.Remember(ctx, policy.Grant{ID: "grt_0123456789abcdef0123456789abcdef", Severity: policy.SeverityInfo}),
		"Grants":   grantserr,
		"Sweep":    s.Sweep(ctx, time.Now()),
	} {
		if err == nil {
			t.Errorf("%s says that it succeeded", what)
		}
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(ctx, a.ID); err != nil || got.State != policy.StatePending {
		t.Errorf("after it came back: %+v, %v", got, err)
	}
	if _, err := s.Get(ctx, fresh.ID); !errors.Is(err, policy.ErrNotFound) {
		t.Errorf("what was not added is there: %v", err)
	}
}

// TestADecisionThatCannotBeStored does not count: the approval is pending as before,
// and the next attempt decides it.
func TestADecisionThatCannotBeStored(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	s := openApprovals(t, dir)
	a := add(t, s, call(`{}`))
	// A folder of that name cannot be replaced by a file, and is no resolution.
	done := filepath.Join(dir, "approvals", a.ID+".done")
	if err := os.Mkdir(done, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, d := range []policy.Decision{policy.AllowOnce, policy.AllowAlways, policy.Deny} {
		if got, err := policy.Decide(ctx, s, a.ID, d, "", epoch); err == nil {
			t.Errorf("%s: %+v", d, got)
		}
	}
	if err := os.Remove(done); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(ctx, a.ID); err != nil || got.State != policy.StatePending {
		t.Errorf("undecided it is %+v, %v", got, err)
	}
	if got, err := policy.Decide(ctx, s, a.ID, policy.Deny, "", epoch); err != nil || got.State != policy.StateDenied {
		t.Errorf("with room again: %+v, %v", got, err)
	}
	if grants, err := s.Grants(ctx); err != nil || len(grants) != 0 {
		t.Errorf("an allow-always that failed left %+v, %v", grants, err)
	}
}
