package conformance

import (
	"context"
	"slices"

	"github.com/quoinhq/quoin/plugins/protocol"
)

var _ protocol.Storage = (*counted)(nil)

// Get implements protocol.Storage.
func (c *counted) Get(ctx context.Context, key string) (protocol.StorageEntry, error) {
	c.asked.Add(1)
	return c.Memory.Get(ctx, key)
}

// Set implements protocol.Storage.
func (c *counted) Set(ctx context.Context, key string, value []byte, expect *uint64) (uint64, error) {
	c.asked.Add(1)
	return c.Memory.Set(ctx, key, value, expect)
}

// Delete implements protocol.Storage.
func (c *counted) Delete(ctx context.Context, key string, expect *uint64) error {
	c.asked.Add(1)
	return c.Memory.Delete(ctx, key, expect)
}

// List implements protocol.Storage.
func (c *counted) List(ctx context.Context, prefix, after string, limit int) ([]string, bool, error) {
	c.asked.Add(1)
	return c.Memory.List(ctx, prefix, after, limit)
}

// hostServices makes a call that uses the plugin's storage.
func hostServices(e *exam) {
	c := e.declared.Storage
	if c == nil {
		e.notExercised("storage is not declared: a call that uses what the host keeps for the plugin")
		return
	}
	if e.found.Manifest.Protocol < 2 {
		e.problem("a call that uses the host's storage is declared, but the manifest names protocol version %d, which has none", e.found.Manifest.Protocol)
		return
	}
	for _, s := range append(slices.Clone(e.declared.Setup), *c) {
		if _, err := e.call(e.ctx, s.Tool, s.Input); err != nil {
			e.problem("a declared call of %s failed: %v", s.Tool, err)
		}
	}
	if e.storage.asked.Load() == 0 {
		e.problem("the declared call storage of %s has asked nothing of its host", c.Tool)
	}
}
