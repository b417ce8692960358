package gosdk_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/examples/adapters/gosdk"
	"github.com/quoinhq/quoin/examples/adapters/internal/adaptertest"
	"github.com/quoinhq/quoin/host"
)

func TestMain(m *testing.M) { adaptertest.Main(m) }

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type sum struct {
	Sum     float64 `json:"sum"`
	Session string  `json:"session"`
}

type sessionKey struct{}

// TestWrap: a client sees two tools in place of one, and its program calls that one, with
// the context of the request.
func TestWrap(t *testing.T) {
	ctx := t.Context()
	upstream := mcp.NewServer(&mcp.Implementation{Name: "calc", Version: "1"}, nil)
	mcp.AddTool(upstream, &mcp.Tool{Name: "add", Description: "Adds two numbers."}, func(ctx context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, sum, error) {
		session, _ := ctx.Value(sessionKey{}).(string)
		return nil, sum{in.A + in.B, session}, nil
	})
	wrapped, err := gosdk.Wrap(ctx, "calc", upstream, adaptertest.Config(), func(_ context.Context, r *mcp.CallToolRequest) host.Session {
		return host.Session{SessionID: "42"}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := wrapped.Close(); err != nil {
			t.Error(err)
		}
	}()
	wrapped.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { // such as one that signs in
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			return next(context.WithValue(ctx, sessionKey{}, "of ada"), method, r)
		}
	})
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := wrapped.Connect(ctx, theirs, nil); err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list, err := client.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 2 || list.Tools[0].Name != "exec" || list.Tools[1].Name != "wait" || !strings.Contains(list.Tools[0].Description, "calc") {
		t.Fatalf("got %+v, %v", list, err)
	}
	r, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{
		"code": `return (await MCP.calc.add({ a: 1, b: 2 })).structuredContent`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, `{"session":"of ada","sum":3}`) && !strings.Contains(text, `{"sum":3,"session":"of ada"}`) {
		t.Errorf("got %s", text)
	}
}
