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

// Server answers MCP clients on behalf of a host. It is an http.Handler. Its
// methods are safe for concurrent use.
type Server struct {
	options Options // as filled in by New
	host    *host.Host
	server  *mcp.Server
	http    *transports
	direct  directTools
	stop    func() // ends what follows the host, and waits for it
	// process tells the connections that this process has opened from those of others.
	process string
	tasks   *Tasks
	drivers *drivers
	// connections are those that are kept between requests.
	connections connections
	times       times
	started     time.Time
	wrong       wrongAnswers
}

// New returns a server of a host, which it borrows.
func New(h *host.Host, o Options) (*Server, error) {
	if h == nil {
		return nil, errors.New("an MCP server needs a host")
	}
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, host: h, process: rand.Text(), tasks: o.Tasks, drivers: newDrivers(), times: defaultTimes, started: time.Now()}
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

// quieter logs what the SDK says of each connection at the level debug.
type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, lowered(level))
}

func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = lowered(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q quieter) WithAttrs(as []slog.Attr) slog.Handler { return quieter{q.Handler.WithAttrs(as)} }
func (q quieter) WithGroup(name string) slog.Handler    { return quieter{q.Handler.WithGroup(name)} }

// lowered is debug for all that is not above warn: most of it clients can cause.
func lowered(slog.Level) slog.Level { return slog.LevelDebug }
