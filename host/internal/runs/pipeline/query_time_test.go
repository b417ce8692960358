package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestTheCatalogLeavesTime: half of the time that is left of a turn stays for the program,
// and a query that is not answered says why.
func TestTheCatalogLeavesTime(t *testing.T) {
	t.Parallel()
	now := time.Now()
	if got, want := halfway(now, now.Add(8*time.Second)), now.Add(4*time.Second); !got.Equal(want) {
		t.Errorf("until %v, want %v", got, want)
	}
	if got := halfway(now, now.Add(-time.Second)); got.After(now) {
		t.Errorf("%v is after a deadline that has passed", got)
	}
	r := &Run{Env: &Env{Env: &run.Env{Config: run.Config{Times: timing.Defaults}}}}
	err := invokeQuery(t.Context(), &call{Entry: &calls.Entry{Call: runstore.Call{Method: "search"}}, run: r, budget: queryBudget{now, 1}})
	if err == nil || err.Code != string(codemode.CodeTimeout) || !strings.Contains(err.Message, "half of the time") || !strings.Contains(err.Message, "smaller batches") {
		t.Errorf("got %+v", err)
	}
}
