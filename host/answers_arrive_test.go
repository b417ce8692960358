package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestEveryAnswerArrives: chains of calls that return at once, bursts that are larger
// than the slots, calls that wait for other calls, timers and yields, in runs that are in
// a store and in others, all come to their end.
func TestEveryAnswerArrives(t *testing.T) {
	t.Parallel()
	const program = `
const chain = async (n) => { let s = 0; for (let i = 0; i < n; i++) s += (await tools.echo({n: i})).n; return s }
const pair = async () => (await Promise.all([tools.meet({}), tools.meet({})])).length
let sum = 0
for (let round = 0; round < 3; round++) {
  const parts = await Promise.all([chain(20), chain(3), pair(), ...Array.from({length: 40}, (_, i) => chain(i % 3))])
  sum += parts.reduce((a, b) => a + b, 0)
  await new Promise((done) => setTimeout(done, 1))
  if (YIELDS && round === 1) await yield_control()
}
return sum`
	for _, yields := range []bool{false, true} {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("yields %t, stored %t", yields, stored), func(t *testing.T) {
				t.Parallel()
				var store runstore.Store
				if stored {
					store = openDir(t, mkdir(t))
				}
				h := start(t, host.Config{Store: store, Tools: []catalog.Tool{echo("echo"), meeting()}})
				for range 5 {
					res := exec(h, strings.Replace(program, "YIELDS", fmt.Sprint(yields), 1))
					for res.Status == host.StatusWaiting {
						res = h.Wait(t.Context(), me, res.RunID)
					}
					// 20 and 3 calls sum up to 190 and 3, 13 of the 40 chains to 1, and a pair is 2.
					wantValue(t, res, fmt.Sprint(3*(190+3+13+2)))
				}
			})
		}
	}
}

// meeting is a tool whose calls return in pairs.
func meeting() catalog.Tool {
	met := make(chan struct{})
	return catalog.Tool{Name: "meet", Description: "Waits for another call.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return nil, nil
	}}
}

// panicsLater is a store that panics at a checkpoint after the first.
type panicsLater struct {
	runstore.Store
	checkpoints atomic.Int32
}

func (s *panicsLater) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s *panicsLater) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(s)(s.Store.Claim(ctx, id))
}

func (s *panicsLater) checkpoint(ctx context.Context, claim runstore.Claim, r *runstore.Record) error {
	if s.checkpoints.Add(1) == 2 {
		panic("the store panics at a checkpoint")
	}
	return claim.Checkpoint(ctx, r)
}

// TestAPanicWhileACallDrivesOn: the goroutine of a call that drives the guest on ends the
// run by a panic, and not the host.
func TestAPanicWhileACallDrivesOn(t *testing.T) {
	t.Parallel()
	store := &panicsLater{Store: openDir(t, mkdir(t))}
	// The host never hears of the call that the store was to be told of, and waits for it.
	h := start(t, host.Config{Store: store, DrainTimeout: time.Millisecond, Tools: []catalog.Tool{echo("echo")}})
	id := wantWaiting(t, exec(h, `await yield_control(); await tools.echo({n: 1}); await tools.echo({n: 2}); return 3`), host.ReasonYield)
	if res := h.Wait(t.Context(), me, id); res.Code != host.CodeInternal {
		t.Errorf("got %s, want %s", show(res), host.CodeInternal)
	}
	wantValue(t, exec(h, `await tools.echo({n: 1}); return (await tools.echo({n: 2})).n`), `2`)
}
