package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/mcpserver"
	"github.com/quoinhq/quoin/internal/hosttest"
)

func TestMain(m *testing.M) {
	if state := os.Getenv(taskHostKey); state != "" {
		log.Fatal(serveTasks(sharedState(state)))
	}
	hosttest.Main(m)
}

var (
	quiet = slog.New(slog.NewTextHandler(io.Discard, nil))
	me    = host.Session{AgentID: "agent", SessionID: "session"}
)

// eras are the revisions that clients of the tests speak: the revision of the stateless era,
// and the last one before.
var eras = []string{"2026-07-28", "2025-11-25"}

// newHost returns a host that is closed when the test ends.
func newHost(t testing.TB, cfg host.Config) *host.Host {
	t.Helper()
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Guests.Path = guest
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	h, err := host.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// newServer returns a server of a host.
func newServer(t testing.TB, h *host.Host, o mcpserver.Options) *mcpserver.Server {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quiet
	}
	s, err := mcpserver.New(h, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Tenth()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// overHTTP serves s to callers of the session.
func overHTTP(t testing.TB, s *mcpserver.Server, session host.Session) *httptest.Server {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.Handle(w, r, session) }))
	t.Cleanup(web.Close)
	return web
}

// connect returns a client of an era.
func connect(t testing.TB, transport mcp.Transport, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := c.Connect(context.Background(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// connectHTTP returns a client of an era over HTTP.
func connectHTTP(t testing.TB, url, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client}, era, o)
}

// connectStreams returns a client of an era over two pipes.
func connectStreams(t testing.TB, s *mcpserver.Server, session host.Session, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.Background(), session, fromClient, toClient) }()
	t.Cleanup(func() {
		// A client that has left does not read the last answer.
		if err := <-ended; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Serve: %v", err)
		}
	})
	return connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, era, o)
}

// call calls a tool and returns its structured content.
func call(t testing.TB, c *mcp.ClientSession, tool string, arguments any) (*mcp.CallToolResult, map[string]any) {
	t.Helper()
	res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	structured, ok := res.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("%s: structured content is %T", tool, res.StructuredContent)
	}
	var fromText map[string]any
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &fromText); err != nil {
		t.Fatal(err)
	}
	return res, structured
}
