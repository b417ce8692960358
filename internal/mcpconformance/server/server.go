//lint:file-ignore SA1019 The suite asks for what the specification has deprecated.

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/mcpserver"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// Server is a host that answers the suite.
type Server struct {
	host    *host.Host
	mcp     *mcpserver.Server
	gateway *gateway.Server
	ended   chan error
	url     string
}

// Start starts a server on a free port of loopback. It builds the guest
// if no test has.
func Start(ctx context.Context) (*Server, error) {
	guest, err := hosttest.Guest()
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	tools := hostTools()
	h, err := host.New(ctx, host.Config{
		Guests: host.GuestConfig{Path: guest}, Logger: quiet, Tools: tools,
		// What takes longer than half a second is a task.
		Settings: host.Settings{Isolation: host.IsolationBestEffort, Wait: 500 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	f := &fixture{key: []byte(rand.Text())}
	m, err := mcpserver.New(h, mcpserver.Options{Logger: quiet, Direct: directNames(tools), Configure: f.configure, Extend: f.extend})
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	g, err := gateway.New(h, gateway.Options{Mounts: map[string]gateway.Mount{"/mcp": m.Handle}, Logger: quiet})
	if err != nil {
		return nil, errors.Join(err, m.Close(), h.Close())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, m.Close(), h.Close())
	}
	s := &Server{host: h, mcp: m, gateway: g, ended: make(chan error, 1), url: "http://" + l.Addr().String() + "/mcp"}
	go func() { s.ended <- g.Serve(l) }()
	return s, nil
}

// URL is the address of the MCP endpoint.
func (s *Server) URL() string { return s.url }

// Close ends the server and its host.
func (s *Server) Close() error {
	err := errors.Join(s.mcp.Close(), s.gateway.Close(), <-s.ended, s.host.Close())
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// fixture is what the scenarios name.
type fixture struct {
	key []byte // seals the states of questions
}

// configure adds what the SDK takes before there is a server.
func (f *fixture) configure(o *mcp.ServerOptions) {
	o.Capabilities.Logging = &mcp.LoggingCapabilities{}
	o.CompletionHandler = complete
	o.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
	o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
}

// extend adds the rest.
func (f *fixture) extend(s *mcp.Server) {
	addContents(s)
	f.addQuestions(s)
	f.addTaskTools(s)
	addResources(s)
	f.addPrompts(s)
}
