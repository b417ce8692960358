package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// slow is a good server that answers nothing before open is closed.
func slow(t *testing.T, open <-chan struct{}) Server {
	t.Helper()
	over := make(chan struct{})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return goodServer("slow") }, &sdk.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			handler.ServeHTTP(w, r)
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); web.CloseClientConnections(); web.Close() })
	return Server{Name: "slow", URL: web.URL}
}

// TestPinnedToolsAreThereBeforeTheFirstAttempt is over, and a call of one waits for it.
func TestPinnedToolsAreThereBeforeTheFirstAttempt(t *testing.T) {
	t.Parallel()
	open, pins := make(chan struct{}), t.TempDir()
	close(open)
	connect(t, Options{PinDir: pins}, slow(t, open))

	open = make(chan struct{})
	changes := make(chan struct{}, 10)
	s, err := Connect([]Server{slow(t, open)}, Options{PinDir: pins, times: tenth, Logger: slog.New(slog.DiscardHandler), OnChange: func() { changes <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if st := s.Status()[0]; st.State != StateConnecting || st.Tools == 0 || !slices.ContainsFunc(s.Tools(), func(t Tool) bool { return t.Name == "echo" }) {
		t.Errorf("before the first attempt: %+v, %d tools", st, len(s.Tools()))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var refused *Error
	if _, err := s.Call(ctx, Request{Server: "slow", Tool: "echo", Input: json.RawMessage(`{}`)}); !asError(err, &refused) || refused.Code != CodeUnavailable || !refused.Retryable {
		t.Errorf("a caller that does not wait so long: %v", err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := s.Call(t.Context(), Request{Server: "slow", Tool: "echo", Input: json.RawMessage(`{"text":"x"}`)})
		answered <- err
	}()
	if err := s.Tried(t.Context(), "other"); err != nil {
		t.Errorf("no server of the name is waited for: %v", err)
	}
	close(open)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := s.Tried(t.Context(), "slow"); err != nil || s.Status()[0].State != StateConnected {
		t.Errorf("after the first attempt: %v, %+v", err, s.Status()[0])
	}
	<-changes // the operations were not known before
}

// TestAServerThatDoesNotComeHasNoTools, although they are pinned.
func TestAServerThatDoesNotComeHasNoTools(t *testing.T) {
	t.Parallel()
	open, pins := make(chan struct{}), t.TempDir()
	close(open)
	connect(t, Options{PinDir: pins}, slow(t, open))
	w := connect(t, Options{PinDir: pins}, Server{Name: "slow", Command: "/nowhere/at/all"})
	if tools := w.Tools(); len(tools) > 0 {
		t.Errorf("a server that is down has %d tools", len(tools))
	}
	<-w.changes // those who show its state hear of that
	if e := w.refuse(t, t.Context(), "slow", "echo", `{}`); e.Code != CodeUnavailable || e.Unknown {
		t.Errorf("got %+v", e)
	}
}
