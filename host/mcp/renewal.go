package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
)

// A server on the network may forget a session, for example when it restarts. The call
// that finds out did not run: the session is started again, and the call is made again once.

// renew has calls wait for another session if a connection ended because the server did not
// know its session any more. It does so once per FirstDelay, so that a server that knows
// no session of its own is not asked without end.
func (k *keeper) renew(err error) bool {
	if !errors.Is(err, errSessionEnded) || time.Since(k.renewed) < k.options.FirstDelay {
		return false
	}
	k.renewed = time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn, k.renewing = nil, true
	k.turned()
	return true
}

// waitsForSession reports whether a session is to be started again.
func (k *keeper) waitsForSession() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.renewing
}

// endRenewal has calls wait no longer, because there was no session to be had.
func (k *keeper) endRenewal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewing = false
}

// awaitSession waits for a connection other than old, as long as there may be one soon.
func (k *keeper) awaitSession(ctx context.Context, old *connection) error {
	ctx, cancel := awake.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	for {
		k.mu.Lock()
		waits := k.renewing || k.conn == old && old != nil
		turn, unavailable := k.turn, k.unavailable()
		k.mu.Unlock()
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
