package host_test

import (
	"context"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/hostile/hostileworker"
)

// hostileConfig starts workers that misbehave as mode says, or as each program says
// if that is empty.
func hostileConfig(t *testing.T, mode string) host.Config {
	t.Helper()
	path, err := hostileworker.Executable(t.TempDir(), mode)
	if err != nil {
		t.Fatal(err)
	}
	return host.Config{Guests: host.GuestConfig{Path: path}, Settings: host.Settings{Isolation: host.IsolationBestEffort}}
}

// TestARunOutlivesAProcessThatCannotTakeIt: the worker that its session has kept
// dies of the restore, and another one takes the run.
func TestARunOutlivesAProcessThatCannotTakeIt(t *testing.T) {
	h := start(t, hostileConfig(t, ""))
	id := wantWaiting(t, exec(h, "wears-out"), host.ReasonYield)
	wantValue(t, h.Wait(context.Background(), me, id), "1")
}

// TestARunOutlivesWorkersThatCannotTakeIt: the run waits on where none can.
func TestARunOutlivesWorkersThatCannotTakeIt(t *testing.T) {
	h := start(t, hostileConfig(t, "no-restore"))
	id := wantWaiting(t, exec(h, "return 1"), host.ReasonYield)
	for range 2 {
		if r := h.Wait(context.Background(), me, id); r.Status != host.StatusWaiting || r.RunID != id {
			t.Fatalf("got %s, want the run to wait on", show(r))
		}
	}
}
