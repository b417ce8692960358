package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/oauth"
	"github.com/quoinhq/quoin/internal/awake"
)

// standing is how a server is at the moment. Its keeper changes it, and its calls use the
// connection that is current.
type standing struct {
	*peer
	publish func()        // what Tools returns has changed
	tried   chan struct{} // closed after the first attempt

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
	renewed       time.Time       // when that was last so
}

// current returns the connection and a tool of it.
func (s *standing) current(name string) (*connection, *Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.conn == nil || s.conn.calls.Err() != nil:
		return nil, nil, s.unavailable()
	case s.byName[name] == nil && s.quarantined(name):
		return nil, nil, &Error{Code: CodeQuarantined, Server: s.name, Message: fmt.Sprintf(
			"Tool %q of MCP server %s is not what was pinned, and an operator has not accepted it. Accept it with: quoin mcp accept %s", bounded(name, 256), s.name, s.name)}
	case s.byName[name] == nil:
		return nil, nil, &Error{Code: CodeUnavailable, Server: s.name, Message: fmt.Sprintf("MCP server %s has no tool %q any more.", s.name, bounded(name, 256))}
	}
	return s.conn, s.byName[name], nil
}

// unavailable is the error of a call of a server that is not connected. The caller holds mu.
func (s *standing) unavailable() *Error {
	e := &Error{Code: CodeUnavailable, Server: s.name, Message: fmt.Sprintf("MCP server %s is not connected.", s.name)}
	if s.status.Permanent != "" {
		e.Message = fmt.Sprintf("MCP server %s is not connected: %s. An operator has to change that; quoin mcp test %s says more.", s.name, s.status.Permanent, s.name)
	}
	return e
}

// turned tells those who wait that the connection is another. The caller holds mu.
func (s *standing) turned() {
	close(s.turn)
	s.turn = make(chan struct{})
}

// adopt makes tools the tools of the server. The caller holds mu.
func (s *standing) adopt(tools []Tool) {
	s.tools, s.byName = tools, make(map[string]*Tool, len(tools))
	for i := range tools {
		s.byName[tools[i].Name] = &tools[i]
	}
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

// quarantined reports whether a tool waits to be accepted. The caller holds mu.
func (s *standing) quarantined(name string) bool {
	return slices.ContainsFunc(s.status.Changes, func(c Change) bool {
		return c.Quarantined && (c.Tool == name || c.Tool == operationPins[Operation(name)])
	})
}

// waitsForAcceptance reports whether tools are not what was pinned.
func (s *standing) waitsForAcceptance() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.status.Changes) > 0
}

// relist has the list of tools read again.
func (s *standing) relist() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.change()
	}
}

// up makes c the connection, and what is listed and not in quarantine the tools of the server.
//
// Only a change of the tools is published. A server that announces its list again
// and again costs no new catalogs.
func (s *standing) up(c *connection, l *listing, changes []Change) {
	tools := released(l.tools, changes)
	var findings []Finding
	if s.server.Pin != PinOff {
		findings = findingsOf(l.offered)
	}
	s.mu.Lock()
	fresh := s.conn != c
	first := s.status.State == StateConnecting
	same := sameTools(s.tools, tools)
	s.conn, s.required, s.renewing = c, nil, false
	s.turned()
	if !same {
		s.adopt(tools)
	}
	since := time.Now()
	if !fresh {
		since = s.status.Since
	}
	noted := slices.EqualFunc(s.status.Changes, changes, sameChange) && slices.Equal(s.status.Findings, findings)
	s.offered = l.offered
	s.status = c.status(countTools(tools))
	s.status.Since, s.status.Changes, s.status.Findings, s.status.LeftOut = since, changes, findings, l.left
	status := s.status
	s.mu.Unlock()
	if fresh {
		s.log.Info("an MCP server is connected", "tools", countTools(tools))
	}
	if !noted {
		s.report(status)
	}
	if !same || !noted || first {
		s.publish()
	}
}

// down takes the tools away. The server is tried again after retry.
func (s *standing) down(err error, retry time.Duration) {
	s.mu.Lock()
	had := len(s.tools) > 0 || s.status.State == StateConnecting
	s.conn, s.tools, s.byName, s.offered, s.required, s.renewing = nil, nil, nil, nil, nil, false
	s.turned()
	since := time.Now()
	if s.status.State == StateDown {
		since = s.status.Since
	}
	s.status = Status{Name: s.name, State: StateDown, Error: err, Permanent: permanent(err), Since: since, Retry: time.Now().Add(retry)}
	s.mu.Unlock()
	if had {
		s.publish()
	}
}

// require notes that the server wants a sign-in, and keeps its tools: those that it had,
// or those that are pinned. So programs that wait for a sign-in find them again, in the
// next process too. It reports whether that is why the connection ended.
func (s *standing) require(ctx context.Context, err error, stamp string) bool {
	var required *oauth.Required
	if s.signer == nil || !errors.As(err, &required) {
		return false
	}
	tools := s.pinnedList(ctx)
	s.mu.Lock()
	fresh := len(s.tools) == 0 && len(tools) > 0
	first := s.status.State == StateConnecting
	if fresh {
		s.adopt(tools)
	}
	since := time.Now()
	if s.required != nil {
		since = s.status.Since
	}
	s.conn, s.offered, s.required, s.requiredStamp, s.renewing = nil, nil, required, stamp, false
	s.status = Status{Name: s.name, State: StateDown, Error: required, NeedsSignIn: true, Since: since, Tools: countTools(s.tools)}
	s.turned()
	s.mu.Unlock()
	if fresh || first {
		s.publish()
	}
	return true
}

// noteOutput records, while the server is being connected, that it writes something else
// than messages: most likely a program that is no MCP server, or its greeting.
func (s *standing) noteOutput(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil && s.status.State == StateConnecting {
		s.status.Error = noMessage(line)
	}
}

// report logs what an operator should look at before tools are used.
func (s *standing) report(st Status) {
	if len(st.Changes) > 0 {
		var names []string
		for _, c := range st.Changes[:min(len(st.Changes), maxListWarnings)] {
			names = append(names, string(c.Kind)+" "+bounded(c.Tool, 100))
		}
		s.log.Warn("the tools of an MCP server are not what was pinned", "pin", s.server.Pin, "changes", len(st.Changes), "tools", names, "accept", "quoin mcp accept "+s.name)
	}
	for _, f := range st.Findings[:min(len(st.Findings), maxListWarnings)] {
		s.log.Warn("a tool of an MCP server looks suspicious", "tool", bounded(f.Tool, 100), "field", f.Field, "kind", f.Kind, "found", f.Text)
	}
}

// A server on the network may forget a session, for example when it restarts. The call
// that finds out did not run: the session is started again, and the call is made again once.

// renew has calls wait for another session if a connection ended because the server did not
// know its session any more. It does so once per FirstDelay, so that a server that knows
// no session of its own is not asked without end.
func (s *standing) renew(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, errSessionEnded) || time.Since(s.renewed) < s.options.FirstDelay {
		return false
	}
	s.conn, s.renewing, s.renewed = nil, true, time.Now()
	s.turned()
	return true
}

// awaitSession waits for a connection other than old, as long as there may be one soon.
func (s *standing) awaitSession(ctx context.Context, old *connection) error {
	ctx, cancel := awake.WithTimeout(ctx, s.server.ConnectTimeout)
	defer cancel()
	for {
		s.mu.Lock()
		waits := s.renewing || s.conn == old && old != nil
		turn, unavailable := s.turn, s.unavailable()
		s.mu.Unlock()
		if !waits {
			return nil
		}
		select {
		case <-turn:
		case <-ctx.Done():
			unavailable.Retryable = true
			return unavailable
		}
	}
}

// A program that is installed at its start, or an image that is pulled, takes longer to
// connect than a host takes to start. Until the first attempt is over, the tools of a server
// are those that are pinned, and calls of them wait.

// remember has the pinned tools of a server exist before the first attempt.
func (s *standing) remember(ctx context.Context) {
	tools := s.pinnedList(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adopt(tools)
	s.status.Tools = countTools(tools)
}

// awaitFirst waits until the first attempt to connect is over.
func (s *standing) awaitFirst(ctx context.Context) error {
	select {
	case <-s.tried:
		return nil
	default:
	}
	ctx, cancel := awake.WithTimeout(ctx, s.server.ConnectTimeout)
	defer cancel()
	select {
	case <-s.tried:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		e := s.unavailable()
		e.Retryable = true
		return e
	}
}
