package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// memory is a plugin's storage that lasts as long as a part.
type memory struct {
	mu       sync.Mutex
	entries  map[string]protocol.StorageEntry
	revision uint64
	asked    int
}

var _ protocol.Storage = (*memory)(nil)

// lock counts a request.
func (m *memory) lock() func() {
	m.mu.Lock()
	m.asked++
	return m.mu.Unlock
}

func (m *memory) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// Get returns the entry of a key.
func (m *memory) Get(_ context.Context, key string) (protocol.StorageEntry, error) {
	defer m.lock()()
	return m.entries[key], protocol.CheckStorageKey(key)
}

// Set gives a key a value.
func (m *memory) Set(_ context.Context, key string, value []byte, expect *uint64) (uint64, error) {
	defer m.lock()()
	if err := protocol.CheckStorageEntry(key, value); err != nil {
		return 0, err
	}
	if err := m.check(key, expect); err != nil {
		return 0, err
	}
	m.revision++
	m.entries[key] = protocol.StorageEntry{Value: slices.Clone(value), Revision: m.revision}
	return m.revision, nil
}

// Delete removes a key.
func (m *memory) Delete(_ context.Context, key string, expect *uint64) error {
	defer m.lock()()
	if err := errors.Join(protocol.CheckStorageKey(key), m.check(key, expect)); err != nil {
		return err
	}
	delete(m.entries, key)
	return nil
}

func (m *memory) check(key string, expect *uint64) error {
	if have := m.entries[key].Revision; expect != nil && have != *expect {
		return protocol.NewError(protocol.KindInput, protocol.CodeStorageConflict, "the key %q has revision %d, not %d", key, have, *expect)
	}
	return nil
}

// List returns keys in order.
func (m *memory) List(_ context.Context, prefix, after string, limit int) (keys []string, more bool, err error) {
	defer m.lock()()
	if limit <= 0 || limit > protocol.MaxStorageList {
		limit = protocol.MaxStorageList
	}
	for _, key := range slices.Sorted(maps.Keys(m.entries)) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(keys) == limit {
			return keys, true, nil
		}
		keys = append(keys, key)
	}
	return keys, false, nil
}

// offerServices opens the stream of host services, as hosts do after Describe, and
// returns a function that ends it. The plugin may refuse it.
func (e *wireExam) offerServices() (stop func()) {
	if e.found.Manifest.Protocol < 2 {
		return func() {}
	}
	e.storage.entries = make(map[string]protocol.StorageEntry)
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
	if e.storage.requests() == 0 {
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
