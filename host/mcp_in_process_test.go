package host_test

import (
	"context"
	"errors"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
)

// greetings is an MCP server of this process.
func greetings() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "greetings", Version: "1"}, nil)
	type name struct {
		Name string `json:"name"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "greet_politely", Description: "Greets a person."}, func(ctx context.Context, _ *sdk.CallToolRequest, in name) (*sdk.CallToolResult, map[string]any, error) {
		tenant, _ := ctx.Value(tenantKey{}).(string)
		session := ""
		if c := catalog.InvocationOf(ctx); c != nil {
			session = c.Session.SessionID
		}
		return nil, map[string]any{"text": "Good day, " + in.Name, "tenant": tenant, "session": session}, nil
	})
	return s
}

const greet = `return (await MCP.greetings.greetPolitely({ name: "Ada" })).structuredContent`

// TestMCPServerInProcess: the tools of a server in this process behave like any MCP server's
// tools, and its handlers have the values and the session of the call.
func TestMCPServerInProcess(t *testing.T) {
	t.Parallel()
	s := greetings()
	h := start(t, host.Config{MCP: host.MCPConfig{Servers: []mcp.Server{{Name: "greetings", InProcess: s}}}})
	for _, tenant := range []string{"acme", "globex"} {
		wantValue(t, h.Exec(asTenant(tenant), me, host.ExecInput{Code: greet}), `{"session":"session","tenant":"`+tenant+`","text":"Good day, Ada"}`)
	}
	if status := h.MCPStatus(); len(status) != 1 || status[0].Transport != "in-process" || status[0].State != mcp.StateConnected {
		t.Errorf("the server is %+v", status)
	}
	changed := h.ToolsChanged(t.Context())
	sdk.AddTool(s, &sdk.Tool{Name: "leave", Description: "Leaves."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "bye"}}}, nil, nil
	})
	<-changed // new tools of the embedder's own server are there without an acceptance
	wantValue(t, exec(h, `return (await MCP.greetings.leave({})).content[0].text`), `"bye"`)
}

// TestMCPServerOfTwoHosts: each of two hosts of one server gives it the values of its calls.
func TestMCPServerOfTwoHosts(t *testing.T) {
	t.Parallel()
	cfg := host.Config{MCP: host.MCPConfig{Servers: []mcp.Server{{Name: "greetings", InProcess: greetings()}}}}
	for i, h := range []*host.Host{start(t, cfg), start(t, cfg)} {
		res := h.Exec(asTenant("acme"), me, host.ExecInput{Code: greet})
		if want := `{"session":"session","tenant":"acme","text":"Good day, Ada"}`; string(res.Value) != want {
			t.Errorf("host %d: got %s", i, show(res))
		}
	}
}

// TestMCPCallsCarryTheEpoch: a server can tell the hosts of a run apart. A run that was
// never suspended has one host.
func TestMCPCallsCarryTheEpoch(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "meta", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "epoch", Description: "Returns the epoch of the call."}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, map[string]any, error) {
		return nil, map[string]any{"epoch": r.Params.Meta["io.github.quoinhq/epoch"]}, nil
	})
	h := start(t, host.Config{Store: openState(t, mkdir(t)), MCP: host.MCPConfig{Servers: []mcp.Server{{Name: "meta", InProcess: s}}}})
	id := wantWaiting(t, exec(h, `
const epoch = async () => (await MCP.meta.epoch()).structuredContent.epoch;
const first = await epoch();
await yield_control();
return [first, await epoch() > 0]`), codemode.ReasonYield)
	wantValue(t, h.Wait(t.Context(), me, id), `[null,true]`)
}

// TestMCPSession: the tools of a session that the embedder has opened behave like any MCP
// server's tools, and the session stays open.
func TestMCPSession(t *testing.T) {
	t.Parallel()
	ours, theirs := sdk.NewInMemoryTransports()
	server, err := greetings().Connect(context.Background(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "gateway", Version: "1"}, nil).Connect(context.Background(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(session.Close(), server.Wait()); err != nil {
			t.Error(err)
		}
	}()
	h, err := newHost(host.Config{MCP: host.MCPConfig{Servers: []mcp.Server{{Name: "greetings", Session: session}}}})
	if err != nil {
		t.Fatal(err)
	}
	wantValue(t, exec(h, greet), `{"session":"","tenant":"","text":"Good day, Ada"}`)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := session.Ping(context.Background(), nil); err != nil {
		t.Errorf("the session was closed: %v", err)
	}
}
