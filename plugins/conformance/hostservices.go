package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// counted is a plugin's storage that lasts as long as a part, and counts requests.
type counted struct {
	pluginstorage.Memory
	asked atomic.Int64
}

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

// offerServices opens the stream of host services, as hosts do after Describe, and
// returns a function that ends it. The plugin may refuse it.
func (e *wireExam) offerServices() (stop func()) {
	if e.found.Manifest.Protocol < 2 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(e.ctx)
	var serving sync.WaitGroup
	serving.Go(func() { e.served = protocol.NewClient(e.conn).ServeHost(ctx, &e.storage) })
	return func() {
		cancel()
		serving.Wait()
		if e.served != nil && !errors.Is(e.served, errors.ErrUnsupported) {
			e.problem("the stream HostServices broke: %v", e.served)
		}
	}
}

// hostServices makes a call that uses the plugin's storage.
func hostServices(e *wireExam) {
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
		e.made(s)
	}
	if e.storage.asked.Load() == 0 {
		e.problem("the declared call storage of %s has asked nothing of its host", c.Tool)
	}
}

// made makes a call that must succeed, on a stream of its own.
func (e *wireExam) made(c Call) json.RawMessage {
	ctx, cancel := e.bounded()
	defer cancel()
	stream, err := e.rpc.CallTool(ctx, callMessage(c.Tool, c.Input))
	for err == nil {
		event, received := stream.Recv()
		switch {
		case received != nil:
			err = received
		case event.GetError() != nil:
			err = errors.New(event.GetError().GetMessage())
		case event.GetResult() != nil:
			return event.GetResult()
		}
	}
	e.problem("a declared call of %s failed: %v", c.Tool, err)
	return nil
}
