package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/oauth"
)

// keeper keeps one server connected. One goroutine connects, lists, waits for the
// end, and starts again; calls use the connection that is current.
type keeper struct {
	name    string
	server  Server
	options Options
	log     *slog.Logger
	life    context.Context // ends when the servers are closed
	publish func()          // what Tools returns has changed
	tried   chan struct{}   // closed after the first attempt
	delay   time.Duration   // before the next attempt; the goroutine's own
	// handshake is how the last session started; the goroutine's own.
	handshake handshake
	renewed   time.Time // when a session that had ended was last started again; the goroutine's own
	answered  bool      // the last connection has answered a call; the goroutine's own
	toldDown  string    // why the server is down, as the log has it; the goroutine's own
	pins      *pins
	left      []LeftOut // what the log has of it; the goroutine's own
	limits    limits
	signer    *signer // nil if the server is not signed in to

	contexts *callContexts // of calls of a server of this process; nil for others

	mu      sync.Mutex
	conn    *connection // nil while disconnected
	tools   []Tool
	byName  map[string]*Tool
	offered pinnedTools // what the server listed last, with what is in quarantine
	status  Status

	required      *oauth.Required // set while there is no connection for want of a sign-in
	requiredStamp string          // of the sign-in that did not do
	turn          chan struct{}   // closed when the connection is another
	renewing      bool            // a session that has ended is started again: calls wait, the tools stay
}

// newKeeper makes the keeper of one server. Call run to start it.
func newKeeper(life context.Context, s Server, o Options, publish func()) *keeper {
	s = s.withDefaults()
	k := &keeper{
		name:    s.Name,
		life:    life,
		server:  s,
		limits:  newLimits(&s),
		options: o,
		log:     o.Logger.With("mcp", s.Name),
		publish: publish,
		pins:    o.Pins.of(s.Name),
		tried:   make(chan struct{}),
		status:  Status{Name: s.Name, State: StateConnecting, Since: time.Now()},
		turn:    make(chan struct{}),
	}
	if s.InProcess != nil {
		k.contexts = newCallContexts(s.InProcess)
	}
	k.signer = newSigner(o.SignIns, &k.server)
	return k
}

var digits = regexp.MustCompile(`\d+`)

// pause waits, and reports false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// current returns the connection and a tool of it.
func (k *keeper) current(name string) (*connection, *Tool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.conn == nil || k.conn.calls.Err() != nil:
		return nil, nil, k.unavailable()
	case k.byName[name] == nil && k.quarantined(name):
		return nil, nil, &Error{Code: CodeQuarantined, Server: k.name, Message: fmt.Sprintf(
			"Tool %q of MCP server %s is not what was pinned, and an operator has not accepted it. Accept it with: quoin mcp accept %s", bounded(name, 256), k.name, k.name)}
	case k.byName[name] == nil:
		return nil, nil, &Error{Code: CodeUnavailable, Server: k.name, Message: fmt.Sprintf("MCP server %s has no tool %q any more.", k.name, bounded(name, 256))}
	}
	return k.conn, k.byName[name], nil
}

// unavailable is the error of a call of a server that is not connected. The caller holds mu.
func (k *keeper) unavailable() *Error {
	e := &Error{Code: CodeUnavailable, Server: k.name, Message: fmt.Sprintf("MCP server %s is not connected.", k.name)}
	if k.status.Permanent != "" {
		e.Message = fmt.Sprintf("MCP server %s is not connected: %s. An operator has to change that; quoin mcp test %s says more.", k.name, k.status.Permanent, k.name)
	}
	return e
}

// countTools counts tools without the operations on resources and prompts.
func countTools(tools []Tool) (n int) {
	for i := range tools {
		if tools[i].Operation == "" {
			n++
		}
	}
	return n
}

// turned tells those who wait that the connection is another. The caller holds mu.
func (k *keeper) turned() {
	close(k.turn)
	k.turn = make(chan struct{})
}

// adopt makes tools the tools of the server. The caller holds mu.
func (k *keeper) adopt(tools []Tool) {
	k.tools, k.byName = tools, make(map[string]*Tool, len(tools))
	for i := range tools {
		k.byName[tools[i].Name] = &tools[i]
	}
}

// quarantined reports whether a tool waits to be accepted. The caller holds mu.
func (k *keeper) quarantined(name string) bool {
	return slices.ContainsFunc(k.status.Changes, func(c Change) bool {
		return c.Quarantined && (c.Tool == name || c.Tool == operationPins[Operation(name)])
	})
}
