package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// TestACallerCannotExtendTheTimeLimit: what a caller asks for shortens the
// operator's limits, and never extends them.
func TestACallerCannotExtendTheTimeLimit(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{Timeout: time.Second}})
	// Without the limit this context would end the program, as aborted.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const day = 24 * time.Hour
	loop := h.Exec(ctx, me, host.ExecInput{Timeout: day, Wait: day, Code: `for (;;);`})
	wantFailure(t, loop, host.CodeTimeout, "", loop.Phase)
	h = start(t, host.Config{Settings: host.Settings{Wait: 100 * time.Millisecond}, Tools: []catalog.Tool{newGate().tool("never")}})
	id := wantWaiting(t, h.Exec(ctx, me, host.ExecInput{Wait: day, Code: `await tools.never()`}), host.ReasonPendingTools)
	wantWaiting(t, h.WaitFor(ctx, me, id, day), host.ReasonPendingTools)
}

// TestWaitingIsNotComputing: neither limit counts as the other. A program that waits longer
// than it may compute goes on, and one that computes when its caller's time is over is not
// ended by that.
func TestWaitingIsNotComputing(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Settings: host.Settings{Timeout: time.Second}, Tools: []catalog.Tool{g.tool("slow"), echo("echo")}})
	wantValue(t, exec(h, `await new Promise(done => setTimeout(done, 1200)); return 1`), `1`)
	id := wantWaiting(t, h.Exec(t.Context(), me, host.ExecInput{Wait: 1, Code: `
const end = Date.now() + 100; while (Date.now() < end);
await tools.slow();
return 2`}), host.ReasonPendingTools)
	close(g.open)
	wantValue(t, h.Wait(t.Context(), me, id), `2`)
}

// TestAWaitGetsOnHoweverShort: a caller that never has time to wait still gets its program
// to the end.
func TestAWaitGetsOnHoweverShort(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}})
	r := h.Exec(t.Context(), me, host.ExecInput{Wait: 1, Code: `let n = 0; for (let i = 0; i < 5; i++) n += (await tools.echo({i})).i; return n`})
	for r.Status == host.StatusWaiting {
		r = h.WaitFor(t.Context(), me, r.RunID, 1)
	}
	wantValue(t, r, `10`)
}

// TestTheDeadlineOfACaller: a caller whose context has a deadline gets its result before,
// so that the run is not lost.
func TestTheDeadlineOfACaller(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	id := wantWaiting(t, h.Exec(ctx, me, host.ExecInput{Code: `return await tools.slow()`}), host.ReasonPendingTools)
	if ctx.Err() != nil {
		t.Error("the result came after the deadline")
	}
	close(g.open)
	wantValue(t, h.Wait(t.Context(), me, id), `"through"`)
}
