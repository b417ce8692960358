package host_test

import (
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
)

// TestASuspendedRunHoldsNoImage: the store has it, also of a run that a host has taken over and
// that waits for a person.
func TestASuspendedRunHoldsNoImage(t *testing.T) {
	t.Parallel()
	const random = 2 << 20 // bytes that the image has
	dir, desk, g := mkdir(t), newDesk(), newGate()
	slow := g.tool("slow")
	slow.ReadOnly = true // it is called again by the next host
	cfg := desk.config([]catalog.Tool{slow, echo("echo")}, asks(policy.ApprovalRequest{Timeout: time.Hour}, "echo"))
	cfg.DrainTimeout = 1
	wantNone := func(h *host.Host, id string) {
		t.Helper()
		if n := h.Engine().Taken()["bytes"]; n >= random || h.Engine().HoldsImage(id) {
			t.Errorf("%d bytes are charged; the image is in memory: %v", n, h.Engine().HoldsImage(id))
		}
	}
	first := start(t, kept(t, dir, cfg))
	id := wantWaiting(t, first.Exec(t.Context(), me, host.ExecInput{Wait: soon, Code: `const kept = [];
		for (let i = 0; i < 32; i++) kept.push(crypto.getRandomValues(new Uint8Array(65536)));
		await Promise.all([tools.slow(), tools.echo({n: 1})]); return kept.length`}), codemode.ReasonApproval)
	<-g.entered
	wantNone(first, id)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, told := advancing(t, kept(t, dir, cfg))
	<-g.entered
	told.until(t, id, trajectory.RunSuspended)
	wantNone(second, id)
	decide(t, second, (<-desk.asked).ID, policy.AllowOnce)
	close(g.open)
	wantValue(t, second.Wait(t.Context(), me, id), `32`)
}
