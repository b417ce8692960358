package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"os"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/hostile/hostileworker"
	"github.com/quoinhq/quoin/internal/hosttest"
)

func TestMain(m *testing.M) {
	hostileworker.ServeIfHostile()
	if dir := os.Getenv(doomedKey); dir != "" {
		log.Fatal(doomed(dir))
	}
	if dir := os.Getenv(doomedUndoKey); dir != "" {
		log.Fatal(doomedUndo(dir))
	}
	if dir := os.Getenv(askingKey); dir != "" {
		log.Fatal(asking(dir))
	}
	if dir := os.Getenv(signingInKey); dir != "" {
		log.Fatal(signingIn(dir))
	}
	if dir := os.Getenv(inquiringKey); dir != "" {
		log.Fatal(inquiring(dir))
	}
	if os.Getenv(calmKey) != "" {
		if err := calm(); err != nil {
			log.Fatal(err)
		}
		return
	}
	if servePaused() || serveGuard() || serveMorph() || serveBundle() {
		return
	}
	if dir := os.Getenv(crashKey); dir != "" {
		log.Fatal(crash(dir))
	}
	if label := os.Getenv(mcpServerKey); label != "" {
		if err := upstream(label).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	hosttest.Main(m)
}

var me = host.Session{AgentID: "agent", SessionKey: "key", SessionID: "session", TurnID: "turn"}

// start returns a host that is closed when the test ends.
func start(t testing.TB, cfg host.Config) *host.Host {
	t.Helper()
	h, err := newHost(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if left := h.Engine().Taken(); len(left) != 0 {
			t.Errorf("a closed host has taken %v of its quotas", left)
		}
	})
	return h
}

// newHost returns a silent host with the guest that the tests use.
func newHost(cfg host.Config) (*host.Host, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if cfg.Guests.Path == "" {
		guest, err := hosttest.Guest()
		if err != nil {
			return nil, err
		}
		cfg.Guests.Path = guest
	}
	if cfg.Guests.Prepared == 0 {
		cfg.Guests.Prepared = 1 // most programs of a test run one after the other
	}
	return host.New(context.Background(), cfg.WithTimes(func(*host.Times) {}))
}

func exec(h *host.Host, code string) *host.Result {
	return h.Exec(context.Background(), me, host.ExecInput{Code: code})
}

func show(r *host.Result) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func wantValue(t *testing.T, r *host.Result, want string) {
	t.Helper()
	if r.Status != host.StatusCompleted || string(r.Value) != want {
		t.Fatalf("got %s\nwant completed %s", show(r), want)
	}
}

func wantFailure(t *testing.T, r *host.Result, code codemode.Code, reason codemode.Reason, phase codemode.Phase) {
	t.Helper()
	if r.Status != host.StatusFailed || r.Code != code || r.Reason != reason || r.Phase != phase {
		t.Fatalf("got %s\nwant failed %s/%s in phase %s", show(r), code, reason, phase)
	}
}

func wantWaiting(t *testing.T, r *host.Result, reason codemode.Reason) string {
	t.Helper()
	if r.Status != host.StatusWaiting || r.Reason != reason {
		t.Fatalf("got %s\nwant waiting %s", show(r), reason)
	}
	return r.RunID
}

// gate is a tool that blocks until it is opened, and counts its calls.
type gate struct {
	entered chan catalog.Invocation
	open    chan struct{}
	ended   chan error // what the call's context said when it was cut off
}

func newGate() *gate {
	return &gate{entered: make(chan catalog.Invocation, 1000), open: make(chan struct{}), ended: make(chan error, 1000)}
}

func (g *gate) tool(name string) catalog.Tool {
	return catalog.Tool{
		Name:        name,
		Description: "Waits until it is let go.",
		Invoke: func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
			g.entered <- c
			select {
			case <-g.open:
				return json.RawMessage(`"through"`), nil
			case <-ctx.Done():
				g.ended <- context.Cause(ctx)
				return nil, ctx.Err()
			}
		},
	}
}

// echo returns its input.
func echo(name string) catalog.Tool {
	return catalog.Tool{
		Name:        name,
		Description: "Returns its input.",
		ReadOnly:    true,
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			return c.Input, nil
		},
	}
}

// failing makes a tool that fails.
func failing(name, message string) catalog.Tool {
	t := echo(name)
	t.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) { return nil, errors.New(message) }
	return t
}

// soon is a deadline the test means to meet, with a guest that waits for a tool: on
// a busy machine it may take a while to get there.
const soon = 1500 * time.Millisecond

func mkdir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
