package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// TestAnswersThatNobodyTakesHoldCallsBack: a suspended program's queued calls start
// as long as its answers are few; the rest starts when it takes them.
func TestAnswersThatNobodyTakesHoldCallsBack(t *testing.T) {
	t.Parallel()
	const calls, slots, reply = 40, 4, 4 << 20
	big := json.RawMessage(`"` + strings.Repeat("x", reply) + `"`)
	var made atomic.Int32
	idle := make(chan struct{}, calls)
	tool := catalog.Tool{Name: "big", Description: "Returns much.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		made.Add(1)
		idle <- struct{}{}
		return big, nil
	}}
	h := start(t, host.Config{Tools: []catalog.Tool{tool}, Settings: host.Settings{MaxPendingCalls: slots, MemoryLimit: 512 << 20, Timeout: time.Minute}})
	r := exec(h, `
		let bytes = 0
		const all = Array.from({ length: 40 }, () => tools.big({}).then(v => { bytes += v.length }))
		await yield_control()
		await Promise.all(all)
		return bytes`)
	if r.Status != host.StatusWaiting {
		t.Fatal(show(r))
	}
	id := r.RunID
	for range 5 {
		<-idle // 20 MiB of answers: more than a turn carries
	}
	if n := h.Engine().Quiet(t.Context()); n != 0 {
		t.Fatalf("%d calls go on", n)
	}
	if n := int(made.Load()); n > 5+2*slots {
		t.Errorf("%d calls were made for a program that took no answer", n)
	}
	for r = h.Wait(context.Background(), me, id); r.Status == host.StatusWaiting; {
		r = h.Wait(context.Background(), me, id)
	}
	wantValue(t, r, "167772160")
	if n := made.Load(); n != calls {
		t.Errorf("%d calls were made", n)
	}
}
