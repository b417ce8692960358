package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
)

// keeper keeps one server connected. One goroutine connects, lists, waits for the
// end, and starts again. What is its own is read by no other.
type keeper struct {
	*standing
	delay     time.Duration // before the next attempt
	handshake handshake     // how the last session started
	answered  bool          // the last connection has answered a call
	toldDown  string        // why the server is down, as the log has it
	left      []LeftOut     // what the log has of it
}

// newKeeper makes the keeper of one server. Call run to start it.
func newKeeper(life context.Context, s Server, o Options, publish func()) *keeper {
	return &keeper{standing: &standing{
		peer:    newPeer(life, s, o),
		publish: publish,
		tried:   make(chan struct{}),
		status:  Status{Name: s.Name, State: StateConnecting, Since: time.Now()},
		turn:    make(chan struct{}),
	}}
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
		renews, err := k.serve(ctx, first, stamp)
		if renews && ctx.Err() == nil {
			k.log.Info("the session of an MCP server has ended, and is started again")
			continue
		}
		signIn := k.require(ctx, err, stamp)
		if !signIn {
			if k.answered || time.Since(start) > k.options.MaxDelay {
				k.delay = k.options.FirstDelay
			}
			k.down(err, k.delay)
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

// serve makes one connection and uses it to its end, which the error explains. stamp is of
// the sign-in as it was before. The session is to be started again at once if it renews.
func (k *keeper) serve(ctx context.Context, first func(), stamp string) (renews bool, err error) {
	k.answered = false
	c, err := k.dial(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		k.answered = c.answered.Load()
		renews = k.renew(err)
		if !renews && !k.require(ctx, err, stamp) {
			k.down(err, k.delay) // before the connection ends: no call may start in between
		}
		if cerr := c.close(k.options.StopTimeout); cerr != nil {
			k.log.Warn("closing the connection to an MCP server", "error", cerr)
		}
	}()
	for {
		pinned := k.pins.stamp(ctx)
		list, err := k.refresh(ctx, c)
		if err != nil {
			return false, err
		}
		first()
		if err := k.awaitChange(ctx, c, list.stale, pinned); err != nil {
			return false, err
		}
		if !pause(ctx, k.options.RefreshDelay) {
			return false, ctx.Err()
		}
	}
}

// refresh lists the tools and makes them the tools of the server.
//
// An error ends the connection: a server that cannot list its tools is not
// usable.
func (k *keeper) refresh(ctx context.Context, c *connection) (*listing, error) {
	ctx, cancel := awake.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	stop := context.AfterFunc(c.calls, cancel)
	defer stop()
	list, err := c.listTools(ctx)
	if err != nil {
		select {
		case <-c.ended:
			return nil, c.err
		case err := <-c.lost:
			return nil, err
		default:
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("no list of tools within %v", k.server.ConnectTimeout)
		}
		return nil, err
	}
	changes, err := k.judge(ctx, list.offered)
	if err != nil {
		return nil, err
	}
	k.noteLeftOut(list.left)
	k.up(c, list, changes)
	k.toldDown = ""
	return list, nil
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

// minStale is how many times RefreshDelay a list is kept, however soon the server says that
// it is out of date.
const minStale = 30

// awaitChange returns once the list of tools, or what is pinned, may have changed: after a
// time, 0 for never, the list has. The error ends the connection.
func (k *keeper) awaitChange(ctx context.Context, c *connection, after time.Duration, pinned string) error {
	var tick <-chan time.Time
	if k.waitsForAcceptance() {
		t := time.NewTicker(k.options.times.pinCheck)
		defer t.Stop()
		tick = t.C
	}
	var stale <-chan time.Time
	if after > 0 {
		t := time.NewTimer(max(after, minStale*k.options.RefreshDelay))
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

// pauseForSignIn waits until someone has signed in, at most d, and reports false when ctx
// has ended.
func (k *keeper) pauseForSignIn(ctx context.Context, stamp string, d time.Duration) bool {
	ctx, cancel := context.WithTimeoutCause(ctx, d, errPaused)
	defer cancel()
	for k.signer.stamp(ctx) == stamp {
		if !pause(ctx, min(k.options.times.signInCheck, d)) {
			return errors.Is(context.Cause(ctx), errPaused)
		}
	}
	return true
}

var errPaused = errors.New("the pause is over")
