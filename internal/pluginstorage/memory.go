package pluginstorage

import (
	"context"
	"sync"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// Memory is a storage that forgets with its process. The zero value is empty and
// ready.
type Memory struct {
	mu sync.Mutex
	t  table
}

var _ protocol.Storage = (*Memory)(nil)

// Get implements protocol.Storage.
func (m *Memory) Get(_ context.Context, key string) (protocol.StorageEntry, error) {
	if err := protocol.CheckStorageKey(key); err != nil {
		return protocol.StorageEntry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.t.entries[key], nil
}

// Set implements protocol.Storage.
func (m *Memory) Set(_ context.Context, key string, value []byte, expect *uint64) (uint64, error) {
	return m.change(key, owned(value), expect)
}

// Delete implements protocol.Storage.
func (m *Memory) Delete(_ context.Context, key string, expect *uint64) error {
	_, err := m.change(key, nil, expect)
	return err
}

func (m *Memory) change(key string, value []byte, expect *uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.t.plan(key, value, expect)
	if err != nil {
		return 0, err
	}
	m.t.apply(c)
	return c.revision, nil
}

// List implements protocol.Storage.
func (m *Memory) List(_ context.Context, prefix, after string, limit int) ([]string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys, more := m.t.list(prefix, after, limit)
	return keys, more, nil
}

// owned is a copy of value that is not nil, which would delete.
func owned(value []byte) []byte { return append([]byte{}, value...) }
