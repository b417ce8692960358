package mcpserver

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/quota"
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
	// process tells the connections that this process has opened from others.
	process string
	tasks   *Tasks
	drivers *drivers
	// connections are those that are kept between requests.
	connections connections
	times       times
	started     time.Time
	wrong       wrongAnswers
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

// connections are the ones of older clients, with their owners. They are shared: where there is no room for one more, the
// oldest of who has the most goes.
type connections struct {
	mu   sync.Mutex
	open []connection // the oldest first
}

type connection struct{ id, owner string }

// directTools are the tools that clients see next to exec and wait.
type directTools struct {
	mu     sync.Mutex
	byName map[string]directTool // as clients see them now
	missed map[string]bool       // names of Options.Direct that were last found to name no tool
}

// directTool is one of them.
type directTool struct {
	id         string
	definition *mcp.Tool
	print      string // tells it from a changed one
}

// transports are the ways over HTTP.
type transports struct {
	// each answers requests that stand for themselves.
	each http.Handler
	// kept answers older clients on connections that are kept between requests.
	kept    http.Handler
	calls   *quota.Meter // requests under way
	streams *quota.Meter // requests that only listen
	bodies  *quota.Meter // bytes of bodies
	// cross refuses pages of other origins.
	cross *http.CrossOriginProtection
}

// drivers drive the runs of tasks in this process, and keep what comes of them.
type drivers struct {
	host  *host.Host
	kept  *Tasks
	log   *slog.Logger
	times *times

	mu    sync.Mutex
	tasks map[string]*taskDriver
	open  context.Context // ends with close
	end   context.CancelFunc
}

// taskDriver drives the run of one task.
type taskDriver struct {
	asked atomic.Int64  // when a client asked last, in Unix nanoseconds
	done  chan struct{} // closed when it drives no more
}

// wrongAnswers counts the answers that did not fit, by approval.
type wrongAnswers struct {
	mu     sync.Mutex
	counts map[string]int
}
