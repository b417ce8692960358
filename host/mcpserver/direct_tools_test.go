package mcpserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	upstreams "github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/mcpserver"
	"github.com/quoinhq/quoin/host/policy"
)

// replies is a tool that answers with a value.
func replies(name, value string) catalog.Tool {
	return catalog.Tool{Name: name, Label: "Label of " + name, Description: "Replies.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(value), nil
	}}
}

func TestDirectTools(t *testing.T) {
	t.Parallel()
	picture := strings.Repeat("picture", 100_000) // more than a program may return
	image := replies("picture", `{"content":[{"type":"image","mimeType":"image/png","data":"`+base64.StdEncoding.EncodeToString([]byte(picture))+`"},
		{"type":"audio","mimeType":"audio/wav","data":"AAAA"},{"type":"resource_link","uri":"file:///x","name":"x"}]}`)
	image.DirectOnly = true
	failing := replies("failing", `{"content":[{"type":"text","text":"no"}],"isError":true,"inputRequests":{"a":{}}}`)
	h := newHost(t, host.Config{
		Tools: []catalog.Tool{image, replies("hello", `"hello"`), replies("number", `{"n":1}`), replies("hidden", `1`), replies("for the desk", `2`), failing},
		Rules: policy.Scopes{Agents: map[string]policy.Rules{"agent": {Deny: []string{"number"}}}},
	})
	s := newServer(t, h, mcpserver.Options{Direct: []string{"hello", "quoin:core:number", "for the desk", "failing", "missing"}})
	other := connectHTTP(t, overHTTP(t, s, host.Session{SessionID: "other"}).URL, eras[0], nil)
	everyWay(t, s, nil, func(t *testing.T, c *mcp.ClientSession) {
		list, err := c.ListTools(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != "exec failing for_the_desk hello picture wait" {
			t.Errorf("an agent without number sees %s", got)
		}

		res := direct(t, c, "picture")
		if len(res.Content) != 3 || string(res.Content[0].(*mcp.ImageContent).Data) != picture || res.Content[1].(*mcp.AudioContent).MIMEType != "audio/wav" || res.Content[2].(*mcp.ResourceLink).URI != "file:///x" {
			t.Errorf("content is %T", res.Content)
		}
		if res = direct(t, c, "hello"); res.IsError || res.Content[0].(*mcp.TextContent).Text != "hello" {
			t.Errorf("hello: %+v", res)
		}
		if res = direct(t, c, "number"); !res.IsError {
			t.Errorf("number, which rules deny: %+v", res)
		}
		if res = direct(t, c, "failing"); !res.IsError || res.NeedsInput() || res.Content[0].(*mcp.TextContent).Text != "no" {
			t.Errorf("failing: %+v", res)
		}
		if res = direct(t, other, "number"); res.IsError || res.Content[0].(*mcp.TextContent).Text != `{"n":1}` {
			t.Errorf("number: %+v", res)
		}
		if _, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "hidden"}); err == nil {
			t.Error("a tool that is not shown can be called")
		}
	})
}

func direct(t *testing.T, c *mcp.ClientSession, name string) *mcp.CallToolResult {
	t.Helper()
	res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{}})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// TestDirectToolsAreGuarded: approvals hold for direct calls too.
func TestDirectToolsAreGuarded(t *testing.T) {
	t.Parallel()
	var c calls
	s := newServer(t, guarded(t, &c, host.Settings{Timeout: time.Minute}), mcpserver.Options{Direct: []string{"write"}})
	for decision, inputs := range map[string]string{"allow-once": `{"n":2}`, "deny": ""} {
		everyWay(t, s, decides(map[string]any{"decision": decision}).options(), func(t *testing.T, client *mcp.ClientSession) {
			res, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: "write", Arguments: json.RawMessage(`{"n":2}`)})
			if err != nil || res.IsError != (decision == "deny") {
				t.Fatalf("%v: %+v", err, res)
			}
			if got := strings.Join(c.taken(), " "); got != inputs {
				t.Errorf("%s: the tool got %s", decision, got)
			}
		})
	}
}

// TestDirectToolsOfUpstreamServers pass on what the server behind says, and come and go
// with it.
func TestDirectToolsOfUpstreamServers(t *testing.T) {
	t.Parallel()
	upstream := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	answer := func(res *mcp.CallToolResult) mcp.ToolHandler {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil }
	}
	schema := json.RawMessage(`{"type":"object"}`)
	upstream.AddTool(&mcp.Tool{Name: "draw", InputSchema: schema}, answer(&mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}}}))
	upstream.AddTool(&mcp.Tool{Name: "fail", InputSchema: schema}, answer(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "broken"}}, IsError: true}))
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return upstream }, nil))
	t.Cleanup(web.CloseClientConnections)
	t.Cleanup(web.Close)
	h := newHost(t, host.Config{MCP: host.MCPConfig{Servers: []upstreams.Server{{Name: "up", URL: web.URL, Pin: upstreams.PinOff}}}})
	s := newServer(t, h, mcpserver.Options{Direct: []string{"draw", "mcp:up:fail", "late"}})
	changed := make(chan struct{}, 10)
	c := connectHTTP(t, overHTTP(t, s, me).URL, eras[1], &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
	if res := direct(t, c, "draw"); string(res.Content[0].(*mcp.ImageContent).Data) != "png" {
		t.Errorf("draw: %+v", res)
	}
	if res := direct(t, c, "fail"); !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "broken") {
		t.Errorf("fail: %+v", res)
	}
	upstream.AddTool(&mcp.Tool{Name: "late", InputSchema: schema}, answer(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "here"}}}))
	for listed := false; !listed; { // the client may hear of earlier changes, too
		<-changed
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		listed = slices.ContainsFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "late" })
	}
	if res := direct(t, c, "late"); res.Content[0].(*mcp.TextContent).Text != "here" {
		t.Errorf("late: %+v", res)
	}
}
