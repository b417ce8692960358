package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
)

// New returns a server of a host, which it borrows.
func New(h *host.Host, o Options) (*Server, error) {
	if h == nil {
		return nil, errors.New("an MCP server needs a host")
	}
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, host: h, process: rand.Text(), tasks: o.Tasks, times: defaultTimes, started: time.Now()}
	s.drivers = newDrivers(h, o.Tasks, o.Logger, &s.times)
	options := &mcp.ServerOptions{
		Logger: slog.New(quieter{s.options.Logger.Handler()}),
		// Nothing here logs to clients; list changes are announced.
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}, Extensions: map[string]any{tasksExtension: map[string]any{}},
		},
		GetSessionID: func() string { return s.process + "." + rand.Text() },
		SetCacheable: cacheable,
	}
	if s.options.Configure != nil {
		s.options.Configure(options)
	}
	s.server = mcp.NewServer(&mcp.Implementation{Name: "quoin", Title: "Quoin", Version: host.Version}, options)
	s.addOwnTools()
	s.server.AddReceivingMiddleware(s.perCaller)
	s.server.AddSendingMiddleware(keepAnswers)
	if err := s.addTasks(); err != nil {
		return nil, err
	}
	if s.options.Extend != nil {
		s.options.Extend(s.server)
	}
	s.http = s.newTransports()
	following, cancel := context.WithCancel(context.Background())
	changed := h.ToolsChanged(following)
	s.syncDirect()
	var ended sync.WaitGroup
	ended.Go(func() { s.follow(following, changed) })
	s.stop = func() {
		cancel()
		ended.Wait()
	}
	return s, nil
}

// listLifetime is how long a client may keep a list, in milliseconds. Changes are
// announced; a client that does not listen sees them after this time.
const listLifetime = 60_000

// cacheable says how long lists may be kept and by whom. They depend on the caller.
func cacheable(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
	if c.TTLMs == 0 {
		c.TTLMs = listLifetime
	}
	c.CacheScope = "private"
}

// Close ends the connections that are open. Requests under way are cut off.
func (s *Server) Close() error {
	s.stop()
	s.drivers.close()
	var all []error
	for session := range s.server.Sessions() {
		all = append(all, session.Close())
	}
	return errors.Join(all...)
}

// filled returns the options with their defaults.
func (o Options) filled() (_ Options, err error) {
	if o.Cipher == nil {
		if o.Cipher, err = newCipher(); err != nil {
			return o, err
		}
	}
	if o.Tasks == nil {
		o.Tasks = newMemoryTasks()
	}
	if o.Wait <= 0 {
		o.Wait = 45 * time.Second
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 8 << 20
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = 256
	}
	if o.MaxStreams <= 0 {
		o.MaxStreams = 32
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = 1024
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 30 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}

// follow keeps the direct tools in line with the host's direct tools until ctx ends. Clients
// that listen are told of every change.
func (s *Server) follow(ctx context.Context, changed <-chan struct{}) {
	for {
		select {
		case <-changed:
			s.syncDirect()
			s.announce()
		case <-ctx.Done():
			return
		}
	}
}

// announce tells clients that listen that the description of exec may be another.
func (s *Server) announce() {
	exec, _ := s.host.Catalog(host.Session{}).Definitions()
	s.server.AddTool(ownTool(exec), s.exec) // the library announces it
}
