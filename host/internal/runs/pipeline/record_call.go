package pipeline

import (
	"context"

	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// recordCall records the outcome of a call and frees its slot. The guest gets the answer
// once the store has it. The calls that have got slots are c.next.
func recordCall(_ context.Context, c *call) *fault.Rejection {
	r := c.run
	c.next, c.lost = r.Record.Settle(r.Background(), c.Entry, c.tool, c.value, c.rejection)
	if r.Now() == run.Parked {
		r.Env.Hint(r.ID)
	}
	r.DropIdleClaim()
	return nil
}

// recordQuery records the answer to a query. The next image of the guest waits for it.
func recordQuery(_ context.Context, c *call) *fault.Rejection {
	c.run.Calls.SettleQuery(c.Entry, c.value, c.rejection)
	return nil
}
