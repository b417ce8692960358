package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/internal/awake"
)

// handshake is how a session starts. What worked is kept for the next start.
type handshake int

const (
	handshakeUnknown handshake = iota // server/discover for a moment, then initialize
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
	discovering bool   // server/discover was sent
	silent      bool   // it was not answered in time
	refused     bool   // initialize was answered by an error
	version     string // that initialize was answered with
}

// dial starts a session. ctx bounds the start alone.
//
// A program of the older protocol may end at the first message that it does not know, or
// ignore that message: then it is started again, or asked in the older way. A program that
// is slow to start ignores server/discover, too; if it then refuses initialize, it is one
// of the newer protocol. A server on the network may answer with what ends the session.
func (k *keeper) dial(ctx context.Context) (*connection, error) {
	if k.server.OpenAPI != "" {
		return k.dialOpenAPI(ctx)
	}
	ctx, cancel := awake.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	c, g, err := k.start(ctx, k.handshake)
	if err != nil && k.handshake == handshakeUnknown && g.discovering && g.version == "" && ctx.Err() == nil && !wantsSignIn(err) {
		again := handshakeOlder
		if g.silent && g.refused {
			again = handshakeNewer
		}
		k.log.Info("an MCP server did not start a session, and is asked in another way", "error", err)
		c, _, err = k.start(ctx, again)
	}
	switch {
	case err != nil:
		k.handshake = handshakeUnknown
	case c.stateless() || c.program != nil && c.program.conn.discovers.Load():
		k.handshake = handshakeNewer
	default:
		k.handshake = handshakeOlder
	}
	return c, err
}

// greet watches the start of a session. It gives server/discover up after a time, 0 for
// never, so that the SDK goes on with initialize.
func (g *greeting) greet(patience time.Duration) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			switch method {
			case methodDiscover:
				g.discovering = true
				waiting, cancel := ctx, context.CancelFunc(func() {})
				if patience > 0 {
					waiting, cancel = context.WithTimeout(ctx, patience)
				}
				defer cancel()
				res, err := next(waiting, method, r)
				g.silent = err != nil && waiting.Err() != nil && ctx.Err() == nil
				return res, err
			case methodInitialize:
				res, err := next(ctx, method, r)
				var rpc *jsonrpc.Error
				g.refused = errors.As(err, &rpc) && rpc.Code != codeTransport
				if answer, ok := res.(*sdk.InitializeResult); ok && err == nil {
					g.version = bounded(answer.ProtocolVersion, 64)
				}
				return res, err
			}
			return next(ctx, method, r)
		}
	}
}

// versionError says that the server speaks no version that this host does. It is nil
// otherwise.
func (g *greeting) versionError() error {
	spoken := sdk.SupportedProtocolVersions() // newest first
	if g.version == "" || slices.Contains(spoken, g.version) {
		return nil
	}
	err := fmt.Errorf("it speaks version %q of MCP, and Quoin speaks %s to %s: install a version of the server, or of Quoin, that fits",
		g.version, spoken[len(spoken)-1], spoken[0])
	return &permanentError{err, "it speaks a version of MCP that this host does not"}
}
