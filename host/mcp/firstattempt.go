package mcp

import (
	"context"

	"github.com/quoinhq/quoin/internal/awake"
)

// A program that is installed at its start, or an image that is pulled, takes longer to
// connect than a host takes to start. Until the first attempt is over, the tools of a server
// are those that are pinned, and calls of them wait.

// remember has the pinned tools of a server exist before the first attempt.
func (k *keeper) remember(ctx context.Context) {
	tools := k.pinnedList(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.adopt(tools)
	k.status.Tools = countTools(tools)
}

// adopt makes tools the tools of the server. The caller holds mu.
func (k *keeper) adopt(tools []Tool) {
	k.tools, k.byName = tools, make(map[string]*Tool, len(tools))
	for i := range tools {
		k.byName[tools[i].Name] = &tools[i]
	}
}

// awaitFirst waits until the first attempt to connect is over.
func (k *keeper) awaitFirst(ctx context.Context) error {
	select {
	case <-k.tried:
		return nil
	default:
	}
	ctx, cancel := awake.WithTimeout(ctx, k.server.ConnectTimeout)
	defer cancel()
	select {
	case <-k.tried:
		return nil
	case <-ctx.Done():
		k.mu.Lock()
		defer k.mu.Unlock()
		e := k.unavailable()
		e.Retryable = true
		return e
	}
}
