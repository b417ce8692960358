package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// handshake is how a session starts. What worked is kept for the next start.
type handshake int

const (
	handshakeUnknown handshake = iota // server/discover, and after a moment initialize too
	handshakeOlder                    // initialize, as before version 2026-07-28
	handshakeNewer                    // server/discover, however long the answer takes
)

// olderVersion is asked for by initialize.
const olderVersion = "2025-11-25"

// The methods that start a session.
const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
)

// greeting is what the start of one session has shown of its server.
type greeting struct {
	discovering bool     // server/discover was sent
	silent      bool     // it was not answered in time
	discovered  bool     // it was answered, be it too late
	begun       *outcome // of initialize
	version     string   // that initialize was answered with
}

// outcome is the answer to a request.
type outcome struct {
	result sdk.Result
	err    error
}

// greet watches the start of a session. A server that has not answered server/discover after
// a time, 0 for never, gets initialize as well.
func (g *greeting) greet(patience time.Duration, self *sdk.Implementation) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			switch method {
			case methodDiscover:
				g.discovering = true
				session, ok := r.GetSession().(*sdk.ClientSession)
				if patience == 0 || g.begun != nil || !ok {
					return next(ctx, method, r)
				}
				return g.discover(ctx, next, r, patience, &sdk.InitializeRequest{Session: session,
					Params: &sdk.InitializeParams{ProtocolVersion: olderVersion, ClientInfo: self, Capabilities: capabilities()}})
			case methodInitialize:
				if g.begun == nil {
					res, err := initialize(ctx, next, r)
					g.begun = &outcome{res, err}
				}
				if answer, ok := g.begun.result.(*sdk.InitializeResult); ok && g.begun.err == nil {
					g.version = bounded(answer.ProtocolVersion, 64)
				}
				return g.begun.result, g.begun.err
			}
			return next(ctx, method, r)
		}
	}
}

var errSilent = errors.New("the server has not answered")

// discover sends server/discover, and to a program that is silent initialize too: it may be
// slow to start, or ignore what it does not know. So it is not started again, whichever of
// the two it takes. One that takes both has the older session, which it was asked for last.
func (g *greeting) discover(ctx context.Context, next sdk.MethodHandler, r sdk.Request, patience time.Duration, older sdk.Request) (sdk.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ask := func(send func() (sdk.Result, error)) <-chan outcome {
		answer := make(chan outcome, 1)
		go func() { // ends with ctx
			res, err := send()
			answer <- outcome{res, err}
		}()
		return answer
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	discovered := ask(func() (sdk.Result, error) { return next(ctx, methodDiscover, r) })
	select {
	case a := <-discovered:
		return a.result, a.err
	case <-timer.C:
		g.silent = true
	}
	initialized := ask(func() (sdk.Result, error) { return initialize(ctx, next, older) })
	var found *outcome
	for g.begun == nil || g.begun.err != nil && found == nil {
		select {
		case a := <-initialized:
			g.begun = &a
			timer.Reset(patience)
		case a := <-discovered:
			if found = &a; a.err == nil {
				timer.Reset(patience)
			}
		case <-timer.C: // a program that has answered the one is awake, and ignores the other
			silence := &outcome{err: errSilent}
			found, g.begun = cmp.Or(found, silence), cmp.Or(g.begun, silence)
		}
	}
	g.discovered = found != nil && found.err == nil
	if g.discovered && g.begun.err != nil {
		return found.result, nil
	}
	return nil, errSilent // the SDK continues with initialize, and its outcome is there
}

// initialize sends initialize. A server that refuses the version and names others that this
// host speaks is asked for the newest of them.
func initialize(ctx context.Context, next sdk.MethodHandler, r sdk.Request) (sdk.Result, error) {
	res, err := next(ctx, methodInitialize, r)
	offered := versionsOf(err)
	q, ok := r.(*sdk.InitializeRequest)
	if len(offered) == 0 || !ok {
		return res, err
	}
	for _, version := range sdk.SupportedProtocolVersions() { // newest first
		if version < statelessVersion && version != q.Params.ProtocolVersion && slices.Contains(offered, version) {
			params := *q.Params
			params.ProtocolVersion = version
			res, err = next(ctx, methodInitialize, &sdk.InitializeRequest{Session: q.Session, Params: &params})
			break
		}
	}
	if len(versionsOf(err)) == 0 {
		return res, err
	}
	return nil, noVersion("it refuses the version of MCP that it was asked for and names %q, and Quoin speaks %s to %s: install a version of the server, or of Quoin, that fits", strings.Join(offered, ", "))
}

// versionsOf returns the versions that a server names when it refuses another.
func versionsOf(err error) []string {
	var refusal *jsonrpc.Error
	var data struct {
		Supported []string `json:"supported"`
	}
	if !errors.As(err, &refusal) || json.Unmarshal(refusal.Data, &data) != nil {
		return nil
	}
	return data.Supported
}

// versionError says that the server speaks no version that this host does. It is nil
// otherwise.
func (g *greeting) versionError() error {
	if g.begun != nil && permanent(g.begun.err) == otherVersion {
		return g.begun.err
	}
	if g.version == "" || slices.Contains(sdk.SupportedProtocolVersions(), g.version) {
		return nil
	}
	return noVersion("it speaks version %q of MCP, and Quoin speaks %s to %s: install a version of the server, or of Quoin, that fits", g.version)
}

// otherVersion is what programs are told of a server that speaks other versions.
const otherVersion = "it speaks a version of MCP that this host does not"

// noVersion is the error about a server that speaks other versions, or says so.
func noVersion(format, theirs string) error {
	spoken := sdk.SupportedProtocolVersions() // newest first
	err := fmt.Errorf(format, bounded(theirs, 200), spoken[len(spoken)-1], spoken[0])
	return &permanentError{err, otherVersion}
}

// capabilities is what the host does for servers: it asks people. It has no files to show
// and no model to lend.
func capabilities() *sdk.ClientCapabilities {
	caps := &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}}
	caps.AddExtension(tasksExtension, map[string]any{})
	return caps
}
