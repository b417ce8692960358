package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// TestARunIsKeptByAHostThatLacksItsTools: a host that lacks what a run was suspended
// with refuses it, says what is missing, and consumes nothing: neither the run nor the
// approval. The right host resumes it afterwards.
func TestARunIsKeptByAHostThatLacksItsTools(t *testing.T) {
	t.Parallel()
	tools := []catalog.Tool{owned("file", "issues"), owned("read", "notes")}
	hooks := []policy.Hook{asks(policy.ApprovalRequest{Timeout: time.Hour}, "quoin:issues:*")}
	for _, tc := range []struct {
		name, code string
		lacking    func(*host.Config)
		missing    []string
	}{
		{"an approved call", `return (await tools.call("quoin:issues:file", {n: 1})).n`,
			func(c *host.Config) { c.Tools = tools[1:] }, []string{"the plugin issues", "the tool quoin:issues:file"}},
		{"a plugin that is used later", `await yield_control(); return (await tools.call("quoin:notes:read", {n: 1})).n`,
			func(c *host.Config) { c.Tools = tools[:1] }, []string{"the plugin notes"}},
		{"every plugin", `await yield_control(); return (await tools.call("quoin:notes:read", {n: 1})).n`,
			func(c *host.Config) { c.Tools = nil }, []string{"the plugin issues, the plugin notes"}},
		{"rules that deny", `await yield_control(); return (await tools.call("quoin:notes:read", {n: 1})).n`,
			func(c *host.Config) { c.Rules.Deny = []string{"owner:notes"} }, []string{"the plugin notes"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := mkdir(t)
			config := func() host.Config { return kept(t, dir, host.Config{Tools: tools, Hooks: hooks}) }
			first := start(t, config())
			r := first.Exec(context.Background(), me, host.ExecInput{Code: tc.code, Wait: soon})
			if r.Status != host.StatusWaiting {
				t.Fatalf("got %s", show(r))
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			allowAll(t, config().Approvals.Store)
			lacking := config()
			tc.lacking(&lacking)
			second := start(t, lacking)
			for range 2 {
				got := second.Wait(context.Background(), me, r.RunID)
				wantFailure(t, got, codemode.CodeInvalidInput, codemode.ReasonToolsMissing, codemode.PhaseHost)
				for _, part := range append(tc.missing, "Nothing is lost") {
					if !strings.Contains(got.Error, part) {
						t.Errorf("%q lacks %q", got.Error, part)
					}
				}
			}
			if err := second.Close(); err != nil {
				t.Fatal(err)
			}
			wantValue(t, start(t, config()).Wait(context.Background(), me, r.RunID), `1`)
		})
	}
}

// allowAll decides every question that waits, while there is no host.
func allowAll(t *testing.T, s policy.Approvals) {
	t.Helper()
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if _, err := policy.Decide(t.Context(), s, a.ID, policy.AllowOnce, "ada", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
}
