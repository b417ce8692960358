package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
)

// That a server wants the older handshake may take seconds to find out. So it is kept next
// to the pins, for the next process. It is asked again after a day: the server may have
// learnt the newer protocol.

const (
	olderExt  = ".older"
	olderLife = 24 * time.Hour
)

// olderStart says that a server has started with the older handshake.
type olderStart struct {
	Server string    `json:"server"` // a digest of what was started
	Until  time.Time `json:"until"`
}

// startDigest changes when the server is another.
func (s *Server) startDigest() string {
	return digest(fmt.Sprintf("%q %q %q %q", s.Command, s.Args, s.Dir, s.URL))
}

// recall returns how to start the server, if an earlier process has found out.
func (k *keeper) recall(ctx context.Context) handshake {
	if k.pins.docs == nil {
		return handshakeUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	text, err := k.pins.docs.Read(ctx, k.name+olderExt)
	var kept olderStart
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Server != k.server.startDigest() || time.Now().After(kept.Until) {
		return handshakeUnknown
	}
	return handshakeOlder
}

// learn keeps how the next session starts, for later processes too if it took time to find
// out. An error costs only that time.
func (k *keeper) learn(ctx context.Context, h handshake, costly bool) {
	before, docs := k.handshake, k.pins.docs
	k.handshake = h
	if docs == nil || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	var err error
	switch name := k.name + olderExt; {
	case h == handshakeOlder && costly:
		kept := olderStart{k.server.startDigest(), time.Now().Add(olderLife)}
		text, _ := json.Marshal(kept) // cannot fail: it is texts
		err = docs.Replace(ctx, name, text, kept.Until)
	case h != handshakeOlder && before == handshakeOlder:
		if err = docs.Remove(ctx, name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		k.log.Debug("how an MCP server starts could not be kept", "error", err)
	}
}

// dial starts a session. ctx bounds the start alone.
//
// A program of the older protocol may end at the first message that it does not know: then
// it is started again, and asked in the older way. A server on the network may answer with
// what ends the session.
func (k *keeper) dial(ctx context.Context) (*connection, error) {
	if k.server.OpenAPI != "" {
		return k.dialOpenAPI(ctx)
	}
	life := ctx
	ctx, cancel := awake.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	c, g, err := k.start(ctx, k.handshake, k.noteOutput)
	again := err != nil && k.handshake == handshakeUnknown && g.discovering && g.version == "" && ctx.Err() == nil && !wantsSignIn(err)
	if again {
		k.log.Debug("an MCP server did not start a session, and is asked in the older way", "error", err)
		c, _, err = k.start(ctx, handshakeOlder, k.noteOutput)
	}
	switch {
	case err == nil && (g.discovered || c.stateless()):
		k.learn(life, handshakeNewer, false)
	case err == nil || again && ctx.Err() != nil: // it was only too late for the second start
		k.learn(life, handshakeOlder, again || g.silent)
	default:
		k.learn(life, handshakeUnknown, false)
	}
	return c, err
}
