package host_test

import (
	"context"
	"os"
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
	h := start(t, host.Config{Store: openDir(t, dir)})
	id := wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield)
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*host.Result{
		"wait": h.Wait(context.Background(), me, id),
		"exec": exec(h, `await yield_control()`),
	} {
		wantFailure(t, r, codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
		if strings.Contains(r.Error, dir) || !strings.Contains(r.Error, "no such file") {
			t.Errorf("%s: %s", name, r.Error)
		}
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	wantValue(t, h.Wait(context.Background(), me, id), `null`)
}
