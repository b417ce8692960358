package host_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// counting is a store that notes what a resumed run writes.
type counting struct {
	runstore.Store
	mu          sync.Mutex
	checkpoints int
	answers     [][]uint64    // ids of settled calls, write by write
	entered     chan struct{} // told of each write of answers
	open        chan struct{} // closed: the writes continue
}

func (c *counting) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(c)(c.Store.Create(ctx, r, max))
}

func (c *counting) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(c)(c.Store.Claim(ctx, id))
}

func (c *counting) checkpoint(ctx context.Context, claim runstore.Claim, r *runstore.Record) error {
	c.mu.Lock()
	c.checkpoints++
	c.mu.Unlock()
	return claim.Checkpoint(ctx, r)
}

func (c *counting) putCalls(ctx context.Context, claim runstore.Claim, generation uint64, calls []runstore.Call) error {
	var ids []uint64
	for _, call := range calls {
		if call.State == runstore.CallSettled {
			ids = append(ids, call.ID)
		}
	}
	c.mu.Lock()
	c.answers = append(c.answers, ids)
	c.mu.Unlock()
	if c.entered != nil {
		c.entered <- struct{}{}
		<-c.open
	}
	return claim.PutCalls(ctx, generation, calls)
}

// TestManyAnswersGetANewImage: what a run that makes no more calls has got of its
// answers does not stay in the store.
func TestManyAnswersGetANewImage(t *testing.T) {
	t.Parallel()
	const size = 10_000
	store := &counting{Store: openState(t, mkdir(t))}
	var (
		h  *host.Host
		id string // known before the first call
	)
	large := catalog.Tool{Name: "large", Description: "Returns much.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		// A turn that took several answers would need fewer images.
		for h.Engine().Settled(id) > 0 && ctx.Err() == nil {
			runtime.Gosched()
		}
		return json.RawMessage(`"` + strings.Repeat("x", size) + `"`), ctx.Err()
	}}
	h = start(t, host.Config{Store: store, Settings: host.Settings{MaxPendingCalls: 1}, Tools: []catalog.Tool{large}})
	h.Engine().CompactAfter(5 * size)
	id = wantWaiting(t, exec(h, `
await yield_control();
let sum = 0;
await Promise.all(Array.from({length: 40}, () => tools.large().then(s => { sum += s.length })));
return sum`), codemode.ReasonYield)
	wantValue(t, h.Wait(context.Background(), me, id), `400000`)
	if n := store.checkpoints; n < 3 || n > 1+40/5 {
		t.Errorf("%d checkpoints for 40 answers, of which 5 make one", n)
	}
	total := 0
	for _, ids := range store.answers {
		total += len(ids)
	}
	if total > 40 {
		t.Errorf("%d answers were written for 40 calls", total)
	}
}
