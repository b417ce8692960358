package approvalscmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/statetest"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/sqlite"
)

// openStores opens the runs and the approvals of a state directory.
func openStores(t *testing.T, dir string) (*sqlite.DB, *policy.StoredApprovals) {
	t.Helper()
	d := statetest.Open(t, dir)
	return d, d.Approvals()
}

// TestAPersonFillsInAForm: what a tool asks is answered field by field, and asked again where
// the answer does not fit.
func TestAPersonFillsInAForm(t *testing.T) {
	t.Parallel()
	const run = "run_00000000000000000000000000000000"
	for name, tc := range map[string]struct {
		typed  string
		goesOn bool
		state  policy.State
		action codemode.AnswerAction
		shown  string
	}{
		"filled in":    {"a\nsize=M\n\n", true, policy.StateAnswered, codemode.AnswerAccept, "--field size="},
		"wrong field":  {"a\nsise=M\n\na\nsize=M\n\n", true, policy.StateAnswered, codemode.AnswerAccept, `the form has no field "sise", expected one of size`},
		"left out":     {"a\n\nd\n", true, policy.StateAnswered, codemode.AnswerDecline, "answer does not fit what was asked"},
		"declined":     {"d\n", true, policy.StateAnswered, codemode.AnswerDecline, "[a]ccept, [d]ecline, [w]ait? "},
		"left for now": {"w\n", false, policy.StatePending, "", "Which size?"},
		"no answer":    {"a\nsize=M", false, policy.StatePending, "", "NAME=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, store := openStores(t, t.TempDir())
			p, err := policy.NewInquiry(policy.Call{Kind: policy.KindTool, ToolID: "mcp:shop:order", ToolName: "order", Owner: "shop", Params: json.RawMessage(`{}`), RunID: run, CallID: "bridge:mcp:1"},
				[]codemode.Question{{ID: "a", Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
					Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string"}},"required":["size"]}`)}}, time.Hour, time.Now())
			if err == nil {
				err = store.Add(t.Context(), p)
			}
			if err != nil {
				t.Fatal(err)
			}
			var screen bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetContext(t.Context())
			cmd.SetErr(&screen)
			a := &Asker{bufio.NewReader(strings.NewReader(tc.typed)), cmd, ownDecisions{store}}
			if got := a.AskAll(run); got != tc.goesOn || !strings.Contains(screen.String(), tc.shown) {
				t.Errorf("goes on: %v, shown\n%s", got, &screen)
			}
			got, err := store.Get(t.Context(), p.ID)
			if err != nil || got.State != tc.state || got.Answers["a"].Action != tc.action {
				t.Errorf("the approval is %+v, %v", got, err)
			}
		})
	}
}
