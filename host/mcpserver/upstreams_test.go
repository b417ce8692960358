package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	upstreams "github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/mcpserver"
)

// TestUpstreamServersThatAreComing are named in the first answers of a server, which do not
// wait for them. Clients hear when they are there, and the program that names one waits.
func TestUpstreamServersThatAreComing(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			open, over := make(chan struct{}), make(chan struct{})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-open:
					upstream := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
					upstream.AddTool(&mcp.Tool{Name: "draw", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "drawn"}}}, nil
					})
					mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return upstream }, &mcp.StreamableHTTPOptions{Stateless: true}).ServeHTTP(w, r)
				case <-over:
				}
			}))
			t.Cleanup(func() { close(over); web.CloseClientConnections(); web.Close() })
			h := newHost(t, host.Config{MCP: host.MCPConfig{Servers: []upstreams.Server{{Name: "up-one", URL: web.URL}}, Wait: -1}})
			s := newServer(t, h, mcpserver.Options{})
			changed := make(chan struct{}, 10)
			c := connectStreams(t, s, me, era, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
			if told := c.InitializeResult().Instructions; !strings.Contains(told, "in one exec") || !strings.Contains(told, "MCP.upOne (being connected)") {
				t.Errorf("the instructions are %q", told)
			}
			description := func() string {
				list, err := c.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				return list.Tools[0].Description
			}
			if first := description(); !strings.Contains(first, "being connected: MCP.upOne.") {
				t.Errorf("the first list says:\n%s", first)
			}
			answered := make(chan string, 1)
			go func() {
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `return (await MCP.upOne.draw({})).content[0].text`}})
				if err != nil {
					answered <- err.Error()
					return
				}
				answered <- res.Content[0].(*mcp.TextContent).Text
			}()
			close(open)
			if got := <-answered; !strings.Contains(got, `"value":"drawn"`) {
				t.Errorf("exec: %s", got)
			}
			for !strings.Contains(description(), "- upOne (1, server \"up-one\"): draw") {
				select {
				case <-changed:
				case <-time.After(time.Minute):
					t.Fatalf("the last list says:\n%s", description())
				}
			}
		})
	}
}

// TestARunOfAnEarlierProcess: who starts Quoin without a session is told how to keep one.
func TestARunOfAnEarlierProcess(t *testing.T) {
	t.Parallel()
	s := newServer(t, newHost(t, host.Config{}), mcpserver.Options{})
	for _, era := range eras {
		mine := connectStreams(t, s, host.Session{SessionID: "desk"}, era, nil)
		other := connectStreams(t, s, host.Session{SessionID: "new"}, era, nil)
		_, got := call(t, mine, "exec", map[string]any{"code": "await yield_control(); return 2"})
		_, refused := call(t, other, "wait", map[string]any{"runId": got["runId"]})
		if text, _ := refused["error"].(string); refused["code"] != "wrong_session" || !strings.Contains(text, "--session NAME") || strings.Contains(text, "desk") {
			t.Errorf("%s: %v", era, refused)
		}
		if _, done := call(t, mine, "wait", map[string]any{"runId": got["runId"]}); done["value"] != 2.0 {
			t.Errorf("%s: wait: %v", era, done)
		}
	}
}
