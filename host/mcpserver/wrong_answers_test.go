package mcpserver_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcpserver"
)

// TestAnAnswerThatDoesNotFit: a client is told what its answer lacks, and after a few of them
// the answer is no.
func TestAnAnswerThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool, code, lacks, ends string
		answer, good            map[string]any
	}{
		"a form": {code: orders, lacks: "size", ends: `"size":{"action":"decline"}`,
			answer: map[string]any{"decision": "allow-once"}, good: map[string]any{"size": "S"}},
		"an approval": {code: writes + ".catch((e) => e.code)", lacks: "decision", ends: `"denied"`,
			answer: map[string]any{"size": "S"}, good: map[string]any{"decision": "allow-once"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c calls
			h := guarded(t, &c, host.Settings{Timeout: time.Minute})
			if name == "a form" {
				h = newHost(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{inquirer(1, form)}})
			}
			s := newServer(t, h, mcpserver.Options{})
			var asked []string
			wrong := 2
			client := answeringClient(t, s, eras[1], func(p *mcp.ElicitParams) map[string]any {
				if asked = append(asked, p.Message); len(asked) > wrong {
					return tc.good
				}
				return tc.answer
			})
			_, got := call(t, client, "exec", map[string]any{"code": tc.code})
			if got["status"] != "completed" || len(asked) != 3 || !strings.Contains(asked[1], "was not taken: ") || !strings.Contains(asked[1], tc.lacks) {
				t.Errorf("the third answer fits: %v, asked %q", got, asked)
			}
			wrong, asked = 100, nil
			if res, _ := call(t, client, "exec", map[string]any{"code": tc.code}); len(asked) != 3 || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, tc.ends) {
				t.Errorf("no answer fits: %s, asked %d times", res.Content[0].(*mcp.TextContent).Text, len(asked))
			}

			// Who answers by another call is told by an error.
			client = answeringClient(t, s, eras[0], nil)
			p := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": tc.code}}
			res, err := client.CallTool(t.Context(), p)
			if err != nil || !res.NeedsInput() {
				t.Fatalf("%v: %+v", err, res)
			}
			p.RequestState, p.InputResponses = res.RequestState, mcp.InputResponseMap{}
			for key := range res.InputRequests {
				p.InputResponses[key] = &mcp.ElicitResult{Action: "accept", Content: tc.answer}
			}
			for n := range 2 {
				if _, err := client.CallTool(t.Context(), p); err == nil || !strings.Contains(err.Error(), tc.lacks) {
					t.Errorf("call %d: %v", n, err)
				}
			}
			if res, err := client.CallTool(t.Context(), p); err != nil || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, tc.ends) {
				t.Errorf("%v: %+v", err, res)
			}
		})
	}
}

// answeringClient is a client that checks no answer. In the stateless era it answers nothing by
// itself.
func answeringClient(t *testing.T, s *mcpserver.Server, era string, answer func(*mcp.ElicitParams) map[string]any) *mcp.ClientSession {
	t.Helper()
	o := decides(nil).options()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	c.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if p, ok := r.GetParams().(*mcp.ElicitParams); ok {
				return &mcp.ElicitResult{Action: "accept", Content: answer(p)}, nil
			}
			return next(ctx, method, r)
		}
	})
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: overHTTP(t, s, me).URL, HTTPClient: client}, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}
