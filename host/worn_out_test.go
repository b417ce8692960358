package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
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

// TestARunWhoseWorkerDoesNotListenFails: a worker that cannot be told what a tool has
// answered is ended, the run says why, and the host runs the next program.
func TestARunWhoseWorkerDoesNotListenFails(t *testing.T) {
	t.Parallel()
	cfg := hostileConfig(t, "")
	large := echo("large")
	large.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`"` + strings.Repeat("x", 4<<20) + `"`), nil
	}
	cfg.Tools = []catalog.Tool{large}
	h := start(t, cfg)
	wantFailure(t, exec(h, "deaf"), codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost)
	wantValue(t, exec(h, "cpu 0"), "1")
	r := h.Exec(context.Background(), me, host.ExecInput{Code: "unread", Timeout: soon})
	if r.Code != codemode.CodeTimeout || r.Error == "" { // of the turn, or of the image that is asked for before it
		t.Errorf("got %s", show(r))
	}
	wantValue(t, exec(h, "cpu 0"), "1")
}
