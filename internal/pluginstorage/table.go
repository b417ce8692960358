package pluginstorage

import (
	"slices"
	"strings"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// table is the content of a storage. It is not safe for concurrent use.
type table struct {
	entries  map[string]protocol.StorageEntry
	bytes    int    // of keys and values
	revision uint64 // the newest there has been
}

// change is the change of one key.
type change struct {
	key      string
	value    []byte // nil: the key goes
	revision uint64
}

// size is what a key and its value count for.
func size(key string, value []byte) int { return len(key) + len(value) }

// plan returns the change that a request means, or why it is refused.
func (t *table) plan(key string, value []byte, expect *uint64) (change, error) {
	if err := protocol.CheckStorageEntry(key, value); err != nil {
		return change{}, err
	}
	old := t.entries[key]
	if expect != nil && *expect != old.Revision {
		return change{}, protocol.NewError(protocol.KindInput, protocol.CodeStorageConflict,
			"storage key %.80q has revision %d, not %d", key, old.Revision, *expect)
	}
	if value != nil {
		if old.Revision == 0 && len(t.entries) >= protocol.MaxStorageKeys {
			return change{}, protocol.NewError(protocol.KindInput, protocol.CodeStorageFull,
				"the plugin's storage has %d keys, which is the limit; delete some", len(t.entries))
		}
		if after := t.bytes - t.counted(key) + size(key, value); after > protocol.MaxStorageBytes {
			return change{}, protocol.NewError(protocol.KindInput, protocol.CodeStorageFull,
				"with key %.80q the plugin's storage would have %d bytes; the limit is %d; delete some", key, after, protocol.MaxStorageBytes)
		}
	}
	return change{key: key, value: value, revision: t.revision + 1}, nil
}

// counted is what an entry counts for now.
func (t *table) counted(key string) int {
	if e, ok := t.entries[key]; ok {
		return size(key, e.Value)
	}
	return 0
}

// apply makes a change.
func (t *table) apply(c change) {
	if t.entries == nil {
		t.entries = make(map[string]protocol.StorageEntry)
	}
	t.bytes -= t.counted(c.key)
	delete(t.entries, c.key)
	if c.value != nil {
		t.entries[c.key] = protocol.StorageEntry{Value: c.value, Revision: c.revision}
		t.bytes += size(c.key, c.value)
	}
	t.revision = max(t.revision, c.revision)
}

// list returns keys as protocol.Storage describes it.
func (t *table) list(prefix, after string, limit int) (keys []string, more bool) {
	if limit <= 0 || limit > protocol.MaxStorageList {
		limit = protocol.MaxStorageList
	}
	for key := range t.entries {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) > limit {
		return keys[:limit:limit], true
	}
	return keys, false
}
