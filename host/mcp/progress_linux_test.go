package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asError is errors.As.
func asError(err error, target **Error) bool { return errors.As(err, target) }

// progressing is a server with a tool that says how far it is, before it answers.
func progressing() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "progressing", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "build", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		token := r.Params.GetProgressToken()
		if token == nil {
			return result("no one listens"), nil
		}
		for _, p := range []*sdk.ProgressNotificationParams{
			{ProgressToken: "another", Progress: 9},
			{ProgressToken: token, Progress: 1, Total: 4, Message: "compiling"},
			{ProgressToken: token, Progress: 2},
		} {
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, err
			}
		}
		return result("built"), nil
	})
	return s
}

// TestProgressOfServersIsPassedOn to the call that it is about, over each transport.
func TestProgressOfServersIsPassedOn(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return progressing() }, nil))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	w := connect(t, Options{}, Server{Name: "web", URL: web.URL}, self(t, "program", "progressing"), Server{Name: "own", InProcess: progressing()})
	for _, server := range []string{"web", "program", "own"} {
		var mu sync.Mutex
		var got []string
		tell := func(p json.RawMessage) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, string(p))
		}
		raw, err := w.Call(t.Context(), Request{Server: server, Tool: "build", Input: json.RawMessage(`{}`), Progress: tell})
		if err != nil {
			t.Fatalf("%s: %v", server, err)
		}
		mu.Lock()
		if want := []string{`{"done":1,"total":4,"message":"compiling"}`, `{"done":2}`}; !slices.Equal(got, want) {
			t.Errorf("%s: told %q before %s", server, got, raw)
		}
		mu.Unlock()
		if out := w.call(t, server, "build", `{}`); out["structuredContent"] != "no one listens" {
			t.Errorf("%s: %v", server, out)
		}
	}
}
