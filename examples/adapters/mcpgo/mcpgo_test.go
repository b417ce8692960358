package mcpgo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/quoinhq/quoin/examples/adapters/internal/adaptertest"
	"github.com/quoinhq/quoin/examples/adapters/mcpgo"
)

func TestMain(m *testing.M) { adaptertest.Main(m) }

// TestWrap: a client sees two tools in place of one, and its program calls that one. The
// middleware of upstream sees each call.
func TestWrap(t *testing.T) {
	upstream := server.NewMCPServer("calc", "1", server.WithToolCapabilities(false), server.WithToolHandlerMiddleware(
		func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
			return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if adaptertest.User(ctx) != "ada" {
					return nil, errors.New("only ada may")
				}
				return next(ctx, r)
			}
		}))
	upstream.AddTool(mcp.NewTool("add", mcp.WithDescription("Adds two numbers."), mcp.WithNumber("a", mcp.Required()), mcp.WithNumber("b", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultStructuredOnly(map[string]any{"sum": r.GetFloat("a", 0) + r.GetFloat("b", 0)}), nil
		})
	wrapped, err := mcpgo.Wrap(adaptertest.As("ada"), adaptertest.Host(t), upstream, adaptertest.Session)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewInProcessClient(wrapped)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ada := adaptertest.As("ada")
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	if _, err := c.Initialize(ada, hello); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(ada, mcp.ListToolsRequest{})
	if err != nil || len(list.Tools) != 2 || list.Tools[0].Name != "exec" || list.Tools[1].Name != "wait" {
		t.Fatalf("got %+v, %v", list, err)
	}
	for user, want := range map[string]string{"ada": `"value":3`, "eve": "only ada may"} {
		call := mcp.CallToolRequest{}
		call.Params.Name, call.Params.Arguments = "exec", map[string]any{"code": `return (await tools.add({ a: 1, b: 2 })).sum`}
		r, err := c.CallTool(adaptertest.As(user), call)
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Content[0].(mcp.TextContent).Text; !strings.Contains(text, want) {
			t.Errorf("%s got %s", user, text)
		}
	}
}
