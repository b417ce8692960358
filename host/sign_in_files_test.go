package host_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/redact"
)

// TestTokensAreInNoFile makes many runs with calls that have a token with them; some of them
// stay suspended, records them with bodies, logs at the lowest level, and looks for the token
// in every file of the state directory, in the log and in what programs print.
func TestTokensAreInNoFile(t *testing.T) {
	t.Parallel()
	runs, suspended := 10_000, 256
	if testing.Short() {
		runs, suspended = 200, 32
	}
	dir, c := t.TempDir(), openClub(t)
	s := signIns(t, dir)
	if _, err := s.Login(t.Context(), c.server(), codemode.Session{}, visit); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	records := openTrajectory(t, dir)
	cfg := kept(t, dir, host.Config{
		Logger: slog.New(slog.NewTextHandler(&locked{w: &log}, &slog.HandlerOptions{Level: slog.LevelDebug})), Trajectory: host.TrajectoryConfig{Sink: records, Bodies: &redact.Redactor{}},
		MCP:      host.MCPConfig{Servers: []mcp.Server{c.server()}, Wait: time.Minute, SignIns: s, Pins: openState(t, dir).Pins()},
		Settings: host.Settings{MaxSuspended: int64(runs)}, Quotas: host.Quotas{SessionPercent: 100, AgentPercent: 100},
	})
	h := start(t, cfg)
	next := make(chan int)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range next {
				code := `const r = await MCP.club.order(); text(JSON.stringify([r, globalThis])); `
				if i < suspended {
					code += `await yield_control(); `
				}
				r := h.Exec(t.Context(), me, host.ExecInput{Code: code + `return r`})
				if want := map[bool]codemode.Status{true: host.StatusWaiting, false: host.StatusCompleted}[i < suspended]; r.Status != want {
					t.Errorf("run %d: %s", i, show(r))
				}
				if bytes.Contains([]byte(show(r)), []byte("PLANTED")) {
					t.Errorf("a secret is in a result: %s", show(r))
				}
			}
		})
	}
	start := time.Now()
	for i := range runs {
		next <- i
	}
	close(next)
	all.Wait()
	t.Logf("%d runs in %s", runs, time.Since(start).Round(time.Second))
	if n := c.ordered(); n != runs {
		t.Errorf("%d calls had the token, expected %d", n, runs)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := records.Close(); err != nil {
		t.Fatal(err)
	}
	wantNoSecret(t, dir, log.String())
}
