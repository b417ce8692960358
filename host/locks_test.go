package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// maxLocks bounds how often one call of a tool takes a lock of its run, as long as the
// run was never suspended.
const maxLocks = 10

// TestOneCallTakesFewLocks.
func TestOneCallTakesFewLocks(t *testing.T) {
	t.Parallel()
	const calls = 20
	var h *host.Host
	var taken []uint64
	probe := catalog.Tool{Name: "probe", Description: "Counts.", Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		taken = append(taken, h.Engine().LocksTaken(c.RunID))
		return nil, nil
	}}
	h = start(t, host.Config{Tools: []catalog.Tool{probe}})
	res := exec(h, `for (let i = 0; i < 20; i++) await tools.probe({})`)
	if res.Status != host.StatusCompleted || len(taken) != calls {
		t.Fatalf("%d calls, %s", len(taken), show(res))
	}
	var locks []uint64
	for i := 2; i < calls; i++ { // the first call also loads the names of tools
		locks = append(locks, taken[i]-taken[i-1])
	}
	// A driver that is woken just before the answer is there takes one more.
	slices.Sort(locks)
	if typical := locks[len(locks)/2]; typical > maxLocks {
		t.Errorf("one call takes %d locks, want %d at most: %v", typical, maxLocks, locks)
	}
}
