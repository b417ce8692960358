package mcp

import (
	"context"
	"encoding/json"

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

// pinnedList returns the tools as they are pinned.
func (k *keeper) pinnedList(ctx context.Context) []Tool {
	pinned, err := k.pins.load(ctx)
	if err != nil || k.server.Pin == PinOff {
		return nil // the next listing says what is wrong with the pins
	}
	l := &listing{server: &k.server, log: k.log, offered: pinnedTools{}}
	for _, name := range pinned.names() {
		t, o := pinned[name], map[string]json.RawMessage{}
		for _, part := range t.parts() {
			if part.Offered != "" {
				o[part.Field] = json.RawMessage(part.Offered)
			}
		}
		if o["name"], err = json.Marshal(name); err != nil {
			continue
		}
		if raw, err := json.Marshal(o); err == nil {
			l.add(raw)
		}
	}
	l.operations(pinned.has(operationPins[ResourcesList]), pinned.has(operationPins[PromptsList]))
	l.rename()
	return l.tools
}
