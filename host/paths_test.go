package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
)

// TestAStoreThatFailsTellsNoPaths: what a model is told of a store that fails does
// not name the host's files.
func TestAStoreThatFailsTellsNoPaths(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	h := start(t, host.Config{Store: openState(t, dir)})
	id := wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield)
	breakState(t, dir, "records", "hidden")
	for name, r := range map[string]*host.Result{
		"wait": h.Wait(context.Background(), me, id),
		"exec": exec(h, `await yield_control()`),
	} {
		wantFailure(t, r, codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
		if strings.Contains(r.Error, dir) || !strings.Contains(r.Error, "no such table") {
			t.Errorf("%s: %s", name, r.Error)
		}
	}
	breakState(t, dir, "hidden", "records")
	wantValue(t, h.Wait(context.Background(), me, id), `null`)
}
