package postgres_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/postgres"
)

// paid is an approval of a new call that waits.
func paid(t testing.TB, s policy.Approvals) *policy.Approval {
	t.Helper()
	a, err := policy.NewApproval(policy.Call{ToolID: "quoin:core:pay", ToolName: "pay", RunID: "run_1", CallID: "1", Params: []byte(`{}`)},
		[]policy.Ask{{Hook: "guard", ApprovalRequest: policy.ApprovalRequest{Title: "Sure?", Severity: policy.SeverityWarning, Timeout: time.Hour, Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}}}}, time.Now())
	if err == nil {
		err = s.Add(t.Context(), a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestPinsOnPostgres: a host that starts later knows what another has pinned, and what is
// accepted with one is there on the other.
func TestPinsOnPostgres(t *testing.T) {
	t.Parallel()
	url := database(t)
	var changed atomic.Bool
	connect := func() *mcp.Servers {
		t.Helper()
		server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
		name := "pay"
		if changed.Load() {
			name = "steal"
		}
		server.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, nil)
		s, err := mcp.Connect([]mcp.Server{{Name: "shop", InProcess: server, Pin: mcp.PinBlock}}, mcp.Options{
			Logger: slog.New(slog.DiscardHandler), Pins: open(t, url, postgres.Options{}).Pins(), RefreshDelay: time.Millisecond,
		})
		if err == nil {
			err = s.Tried(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	if tools := connect().Tools(); len(tools) != 1 {
		t.Fatalf("on first sight: %v", tools)
	}
	changed.Store(true)
	one, other := connect(), connect()
	for _, s := range []*mcp.Servers{one, other} {
		if tools, held := s.Tools(), s.Status()[0].Quarantined(); len(tools) != 0 || held != 1 {
			t.Errorf("after a change: %v, %d in quarantine", tools, held)
		}
	}
	d, err := one.Difference("shop")
	if err == nil {
		err = one.Accept(d)
	}
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(other.Tools()) != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("what was accepted is not there: %+v", other.Status())
		}
	}
}
