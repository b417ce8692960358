package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
)

// run keeps the server connected until ctx ends.
//
// Pauses between attempts double up to MaxDelay. A connection that held longer
// than that, or that has answered a call, resets them: a server that restarts once a day,
// or that one of many calls crashes, is back at once. There is no pause before a session
// that the server has forgotten is started again.
func (k *keeper) run(ctx context.Context) {
	first := sync.OnceFunc(func() { close(k.tried) })
	defer first()
	k.delay = k.options.FirstDelay
	k.handshake = k.recall(ctx)
	for {
		start := time.Now()
		var stamp string
		if k.signer != nil {
			stamp = k.signer.stamp(ctx)
		}
		err := k.serve(ctx, first, stamp)
		if k.waitsForSession() && ctx.Err() == nil {
			k.log.Info("the session of an MCP server has ended, and is started again")
			continue
		}
		signIn := k.require(ctx, err, stamp)
		if !signIn {
			k.down(err)
		}
		first()
		if ctx.Err() != nil {
			return
		}
		if signIn {
			k.tellDown(err, "a sign-in")
			if !k.pauseForSignIn(ctx, stamp, k.options.MaxDelay) {
				return
			}
			continue
		}
		if k.answered || time.Since(start) > k.options.MaxDelay {
			k.delay = k.options.FirstDelay
			k.retryIn(k.delay)
		}
		k.tellDown(err, k.delay)
		if !pause(ctx, k.delay) {
			return
		}
		k.delay = min(2*k.delay, k.options.MaxDelay)
	}
}

// tellDown warns that the server is not connected, once for each cause until it is connected
// again. Digits, as in a port or a time, make no other cause.
func (k *keeper) tellDown(err error, retry any) {
	level := slog.LevelDebug
	if cause := permanent(err) + digits.ReplaceAllString(err.Error(), ""); cause != k.toldDown {
		level, k.toldDown = slog.LevelWarn, cause
	}
	k.log.Log(k.life, level, "an MCP server is not connected", "error", err, "retry", retry)
}

// retryIn notes when the server is tried again.
func (k *keeper) retryIn(d time.Duration) {
	k.mu.Lock()
	k.status.Retry = time.Now().Add(d)
	k.mu.Unlock()
}

// serve makes one connection and uses it to its end, which the error explains. stamp is of
// the sign-in as it was before.
func (k *keeper) serve(ctx context.Context, first func(), stamp string) (err error) {
	k.answered = false
	c, err := k.dial(ctx)
	if err != nil {
		k.endRenewal()
		return err
	}
	defer func() {
		k.answered = c.answered.Load()
		switch {
		case k.renew(err):
		case !k.require(ctx, err, stamp):
			k.down(err) // before the connection ends: no call may start in between
		}
		if cerr := c.close(k.options.StopTimeout); cerr != nil {
			k.log.Warn("closing the connection to an MCP server", "error", cerr)
		}
	}()
	for {
		pinned := k.pins.stamp(ctx)
		if err := k.refresh(ctx, c); err != nil {
			return err
		}
		first()
		if err := k.awaitChange(ctx, c, pinned); err != nil {
			return err
		}
		if !pause(ctx, k.options.RefreshDelay) {
			return ctx.Err()
		}
	}
}

// refresh lists the tools and makes them the tools of the server.
//
// An error ends the connection: a server that cannot list its tools is not
// usable.
func (k *keeper) refresh(ctx context.Context, c *connection) error {
	ctx, cancel := awake.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	stop := context.AfterFunc(c.calls, cancel)
	defer stop()
	tools, offered, err := c.listTools(ctx)
	if err != nil {
		select {
		case <-c.ended:
			return c.err
		case err := <-c.lost:
			return err
		default:
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("no list of tools within %v", k.server.ConnectTimeout)
		}
		return err
	}
	changes, err := k.judge(ctx, offered)
	if err != nil {
		return err
	}
	k.noteLeftOut(c.left)
	k.up(c, released(tools, changes), offered, changes)
	return nil
}

// noteLeftOut logs what is left out, once and not with each list that says the same. The
// caller is the only one that connects the server.
func (k *keeper) noteLeftOut(left []LeftOut) {
	same := func(a, b LeftOut) bool {
		return a.Reason == b.Reason && a.Count == b.Count && slices.Equal(a.Tools, b.Tools)
	}
	if slices.EqualFunc(k.left, left, same) {
		return
	}
	k.left = left
	for _, o := range left[:min(len(left), maxListWarnings)] {
		what := map[bool]string{false: "tools", true: "parts of input schemas"}[o.Parts]
		k.log.Warn(what+" of an MCP server were left out", "reason", o.Reason, "count", o.Count, "tools", o.Tools, "reasons", len(left))
	}
}

// relist has the list of tools read again.
func (k *keeper) relist() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn != nil {
		k.conn.change()
	}
}

// minStale is how many times RefreshDelay a list is kept, however soon the server says that
// it is out of date.
const minStale = 30

// awaitChange returns once the list of tools, or what is pinned, may have changed. The
// error ends the connection.
func (k *keeper) awaitChange(ctx context.Context, c *connection, pinned string) error {
	var tick <-chan time.Time
	if k.waitsForAcceptance() {
		t := time.NewTicker(k.options.times.pinCheck)
		defer t.Stop()
		tick = t.C
	}
	var stale <-chan time.Time
	if c.stale > 0 {
		t := time.NewTimer(max(c.stale, minStale*k.options.RefreshDelay))
		defer t.Stop()
		stale = t.C
	}
	for {
		select {
		case <-c.ended:
			return c.err
		case err := <-c.lost:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-c.changed:
			return nil
		case <-stale:
			return nil
		case <-tick:
			if k.pins.stamp(ctx) != pinned {
				return nil
			}
		}
	}
}

// waitsForAcceptance reports whether tools are not what was pinned.
func (k *keeper) waitsForAcceptance() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.status.Changes) > 0
}

// up makes c the connection and tools the tools of the server.
//
// Only a change of the tools is published. A server that announces its list again
// and again costs no new catalogs.
func (k *keeper) up(c *connection, tools []Tool, offered pinnedTools, changes []Change) {
	var findings []Finding
	if k.server.Pin != PinOff {
		findings = findingsOf(offered)
	}
	k.mu.Lock()
	fresh := k.conn != c
	first := k.status.State == StateConnecting
	same := sameTools(k.tools, tools)
	k.conn, k.required, k.renewing = c, nil, false
	k.turned()
	if !same {
		k.adopt(tools)
	}
	since := time.Now()
	if !fresh {
		since = k.status.Since
	}
	noted := slices.EqualFunc(k.status.Changes, changes, sameChange) && slices.Equal(k.status.Findings, findings)
	k.offered = offered
	k.status = k.statusOf(c, countTools(tools))
	k.status.Since, k.status.Changes, k.status.Findings, k.status.LeftOut = since, changes, findings, c.left
	status := k.status
	k.mu.Unlock()
	if fresh {
		k.toldDown = ""
		k.log.Info("an MCP server is connected", "tools", countTools(tools))
	}
	if !noted {
		k.report(status)
	}
	if !same || !noted || first {
		k.publish()
	}
}

// down takes the tools away.
func (k *keeper) down(err error) {
	k.mu.Lock()
	had := len(k.tools) > 0 || k.status.State == StateConnecting
	k.conn, k.tools, k.byName, k.offered, k.required, k.renewing = nil, nil, nil, nil, nil, false
	k.turned()
	since := time.Now()
	if k.status.State == StateDown {
		since = k.status.Since
	}
	k.status = Status{Name: k.name, State: StateDown, Error: err, Permanent: permanent(err), Since: since, Retry: time.Now().Add(k.delay)}
	k.mu.Unlock()
	if had {
		k.publish()
	}
}

// report logs what an operator should look at before tools are used.
func (k *keeper) report(s Status) {
	if len(s.Changes) > 0 {
		var names []string
		for _, c := range s.Changes[:min(len(s.Changes), maxListWarnings)] {
			names = append(names, string(c.Kind)+" "+bounded(c.Tool, 100))
		}
		k.log.Warn("the tools of an MCP server are not what was pinned", "pin", k.server.Pin, "changes", len(s.Changes), "tools", names, "accept", "quoin mcp accept "+k.name)
	}
	for _, f := range s.Findings[:min(len(s.Findings), maxListWarnings)] {
		k.log.Warn("a tool of an MCP server looks suspicious", "tool", bounded(f.Tool, 100), "field", f.Field, "kind", f.Kind, "found", f.Text)
	}
}

// statusOf describes a live connection. The caller holds mu.
func (k *keeper) statusOf(c *connection, tools int) Status {
	st := Status{Name: k.name, State: StateConnected, Tools: tools}
	if c.api != nil {
		st.Protocol, st.ServerName, st.ServerVersion = "OpenAPI "+bounded(c.api.doc.Format, 20), bounded(c.api.doc.Title, 256), bounded(c.api.doc.Version, 64)
		return st
	}
	if r := c.session.InitializeResult(); r != nil {
		st.Protocol = bounded(r.ProtocolVersion, 64)
		if r.ServerInfo != nil {
			st.ServerName, st.ServerVersion = bounded(r.ServerInfo.Name, 256), bounded(r.ServerInfo.Version, 64)
		}
	}
	return st
}

// judge compares what a server offers with its pins, which it makes on first sight.
//
// It fails closed: pins that cannot be read or written leave a server without tools.
func (k *keeper) judge(ctx context.Context, offered pinnedTools) ([]Change, error) {
	if k.server.Pin == PinOff {
		return nil, nil
	}
	pinned, err := k.pins.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("the pins of its tools: %w", err)
	}
	isTool := func(name string) bool { return !strings.HasPrefix(name, " ") }
	if pinned == nil && !slices.ContainsFunc(offered.names(), isTool) {
		return nil, nil // no tool was seen yet, as of a server that first wants a sign-in
	}
	if pinned == nil {
		err := k.pins.start(ctx, offered)
		if errors.Is(err, fs.ErrExist) { // another process was first
			if pinned, err = k.pins.load(ctx); pinned == nil && err == nil {
				err = errors.New("the file of its pins leads nowhere; remove it")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("pinning its tools: %w", err)
		}
		if pinned == nil {
			return nil, nil
		}
	}
	changes := pinned.changes(offered)
	for i := range changes {
		changes[i].Quarantined = k.server.Pin == PinBlock && changes[i].Kind != ToolRemoved
	}
	return changes, nil
}
