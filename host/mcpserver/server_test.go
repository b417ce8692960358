package mcpserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/mcpserver"
)

// everyWay runs a test with a client of each era, over HTTP and over streams.
func everyWay(t *testing.T, s *mcpserver.Server, o *mcp.ClientOptions, f func(t *testing.T, c *mcp.ClientSession)) {
	t.Helper()
	for _, era := range eras {
		t.Run("http "+era, func(t *testing.T) { f(t, connectHTTP(t, overHTTP(t, s, me).URL, era, o)) })
		t.Run("streams "+era, func(t *testing.T) { f(t, connectStreams(t, s, me, era, o)) })
	}
}

func TestToolsAreListed(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	exec, wait := h.Catalog(me).Definitions()
	everyWay(t, newServer(t, h, mcpserver.Options{}), nil, func(t *testing.T, c *mcp.ClientSession) {
		list, err := c.ListTools(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != 2 || list.Tools[0].Name != "exec" || list.Tools[1].Name != "wait" {
			t.Fatalf("tools are %v", list.Tools)
		}
		if list.Tools[0].Description != exec.Description || list.Tools[1].Description != wait.Description {
			t.Error("the descriptions are not those of the host")
		}
		for _, tool := range list.Tools {
			if tool.Title == "" || tool.OutputSchema == nil || tool.Annotations == nil {
				t.Errorf("%s: %+v", tool.Name, tool)
			}
		}
		if list.CacheScope != "private" || list.TTLMs == 0 {
			if c.InitializeResult() == nil || c.InitializeResult().ProtocolVersion == eras[0] {
				t.Errorf("the list may be kept %d ms, %s", list.TTLMs, list.CacheScope)
			}
		}
	})
}

func TestExecAndWait(t *testing.T) {
	t.Parallel()
	s := newServer(t, newHost(t, host.Config{}), mcpserver.Options{})
	everyWay(t, s, nil, func(t *testing.T, c *mcp.ClientSession) {
		res, got := call(t, c, "exec", map[string]any{"code": "return 6 * 7"})
		if got["status"] != "completed" || got["value"] != 42.0 || res.IsError || len(got) != 2 {
			t.Errorf("exec: %v", got)
		}
		if telemetry, _ := res.Meta[mcpserver.MetaTelemetry].(map[string]any); telemetry["wallMs"] == nil {
			t.Errorf("_meta is %v", res.Meta)
		}

		res, got = call(t, c, "exec", map[string]any{"code": "throw new TypeError('no')"})
		if got["status"] != "failed" || got["code"] != "program_error" || !res.IsError {
			t.Errorf("exec: %v", got)
		}
		res, got = call(t, c, "exec", map[string]any{"program": 1})
		if got["code"] != "invalid_input" || !res.IsError || !strings.Contains(got["error"].(string), `"code"`) {
			t.Errorf("exec: %v", got)
		}

		_, got = call(t, c, "exec", map[string]any{"code": "text('one'); await yield_control(); return 2"})
		if got["status"] != "waiting" || got["reason"] != "yield" || got["output"] == nil {
			t.Errorf("exec: %v", got)
		}
		_, got = call(t, c, "wait", map[string]any{"runId": got["runId"]})
		if got["status"] != "completed" || got["value"] != 2.0 {
			t.Errorf("wait: %v", got)
		}
	})
}

// TestRunsBelongToSessions has another session ask for a run.
func TestRunsBelongToSessions(t *testing.T) {
	t.Parallel()
	s := newServer(t, newHost(t, host.Config{}), mcpserver.Options{})
	for _, era := range eras {
		mine := connectHTTP(t, overHTTP(t, s, me).URL, era, nil)
		other := connectHTTP(t, overHTTP(t, s, host.Session{SessionID: "other"}).URL, era, nil)
		_, got := call(t, mine, "exec", map[string]any{"code": "await yield_control(); return 2"})
		if _, refused := call(t, other, "wait", map[string]any{"runId": got["runId"]}); refused["code"] != "wrong_session" {
			t.Errorf("%s: another session's wait: %v", era, refused)
		}
		if _, done := call(t, mine, "wait", map[string]any{"runId": got["runId"]}); done["value"] != 2.0 {
			t.Errorf("%s: wait: %v", era, done)
		}
	}
}

// TestTrivialResultIsSmall bounds what a completed result costs a model. Four bytes
// are about a token.
func TestTrivialResultIsSmall(t *testing.T) {
	t.Parallel()
	c := connectHTTP(t, overHTTP(t, newServer(t, newHost(t, host.Config{}), mcpserver.Options{}), me).URL, eras[0], nil)
	res, _ := call(t, c, "exec", map[string]any{"code": "return 42"})
	text := res.Content[0].(*mcp.TextContent).Text
	if len(res.Content) != 1 || len(text) > 60 {
		t.Errorf("the model pays %d bytes: %s", len(text), text)
	}
}
