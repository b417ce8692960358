package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcpserver"
)

// gated returns a tool that answers once a value can be taken from open.
func gated(open <-chan struct{}) catalog.Tool {
	return catalog.Tool{Name: "slow", Description: "Takes long.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
		select {
		case <-open:
			return json.RawMessage(`"done"`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// TestWaitsOfClients: a client has an answer before it gives up, and one that follows the
// progress of its wait keeps waiting and hears that the program still runs.
func TestWaitsOfClients(t *testing.T) {
	t.Parallel()
	open := make(chan struct{}, 1)
	s := newServer(t, newHost(t, host.Config{Tools: []catalog.Tool{gated(open)}}), mcpserver.Options{Wait: 200 * time.Millisecond})
	s.Beat(50 * time.Millisecond)
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		if r.Params.Message == "waiting for 1s" { // longer than without a token
			select {
			case open <- struct{}{}:
			default:
			}
		}
	}}
	everyWay(t, s, o, func(t *testing.T, c *mcp.ClientSession) {
		select { // of the way before
		case <-open:
		default:
		}
		_, got := call(t, c, "exec", map[string]any{"code": `return await tools.slow({})`})
		if got["status"] != "waiting" || got["next"] == nil {
			t.Fatalf("exec: %v", got)
		}
		id := map[string]any{"runId": got["runId"]}
		if _, got = call(t, c, "wait", id); got["status"] != "waiting" {
			t.Fatalf("wait: %v", got)
		}
		p := &mcp.CallToolParams{Name: "wait", Arguments: id}
		p.SetProgressToken("token")
		res, err := c.CallTool(t.Context(), p)
		if err != nil || res.IsError {
			t.Fatalf("%v: %+v", err, res)
		}
		var last struct{ Status, Value string }
		if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &last); err != nil || last.Status != "completed" || last.Value != "done" {
			t.Errorf("%v: %+v", err, last)
		}
	})
}

// TestAClientThatLeavesAWait loses nothing: its run is there for the next wait.
func TestAClientThatLeavesAWait(t *testing.T) {
	t.Parallel()
	open := make(chan struct{}, 1)
	h := newHost(t, host.Config{Tools: []catalog.Tool{gated(open)}})
	s := newServer(t, h, mcpserver.Options{})
	everyWay(t, s, nil, func(t *testing.T, c *mcp.ClientSession) {
		_, got := call(t, c, "exec", map[string]any{"code": `await yield_control(); return await tools.slow({})`})
		id, _ := got["runId"].(string)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"runId": id}})
			left <- err
		}()
		is(t, h, id, func(r codemode.RunInfo) bool {
			return r.Status == codemode.RunRunning && r.Reason != codemode.ReasonYield
		})
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the client got %v", err)
		}
		is(t, h, id, func(r codemode.RunInfo) bool { return r.Status == codemode.RunWaiting })
		open <- struct{}{}
		_, got = call(t, c, "wait", map[string]any{"runId": id})
		if got["status"] != "completed" || got["value"] != "done" {
			t.Errorf("wait: %v", got)
		}
	})
}

// is returns once a run is as it should be.
func is(t *testing.T, h *host.Host, id string, should func(codemode.RunInfo) bool) {
	t.Helper()
	for {
		r, err := h.Runs().Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if should(r) {
			return
		}
		runtime.Gosched()
	}
}
