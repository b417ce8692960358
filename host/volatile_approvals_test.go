package host_test

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestQuestionsThatEndBeforeTheirRuns: runs on disk outlive what people are asked about them
// where the approvals are in memory, and the log says so.
func TestQuestionsThatEndBeforeTheirRuns(t *testing.T) {
	t.Parallel()
	state := openState(t, t.TempDir())
	for name, tc := range map[string]struct {
		runs   runstore.Store
		store  policy.Approvals
		warned bool
	}{
		"on disk":            {openState(t, mkdir(t)), nil, true},
		"in memory":          {nil, nil, false},
		"both on disk":       {state, state.Approvals(), false},
		"on disk, by choice": {openState(t, mkdir(t)), &policy.MemoryApprovals{}, false},
	} {
		log := &logged{}
		start(t, host.Config{Logger: log.jsonLogger(), Store: tc.runs, Approvals: host.ApprovalConfig{Store: tc.store}})
		if got := strings.Contains(log.text(), "set Config.Approvals.Store to a store that does"); got != tc.warned {
			t.Errorf("%s: warned %t: %s", name, got, log.text())
		}
	}
}
