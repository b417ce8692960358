package sqlite

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/pluginstorage"
)

// pluginLog is the log of one plugin's storage.
type pluginLog struct {
	d    *conn
	id   string
	seal *runstore.Sealer
}

var _ pluginstorage.Log = (*pluginLog)(nil)

// maxPluginEntry bounds an entry with its seal, in bytes.
const maxPluginEntry = pluginstorage.MaxEntry + 1<<10

// name is what an entry is sealed under.
func (l *pluginLog) name(n uint64) string { return fmt.Sprintf("%s/%d", l.id, n) }

// Read implements pluginstorage.Log.
func (l *pluginLog) Read(ctx context.Context, after uint64, add func(uint64, []byte) error) error {
	return l.d.read(ctx, func(q querier) error {
		var head uint64
		err := q.row(`SELECT head FROM plugin_storages WHERE plugin = ?`, []any{l.id}, &head)
		if err != nil && !isMissing(err) || head == after {
			return ignoreMissing(err)
		}
		if head < after {
			return pluginstorage.ErrLost // another copy of the state was put here
		}
		return q.rows(`SELECT n, CASE WHEN length(entry) <= ? THEN entry END FROM plugin_entries WHERE plugin = ? AND n > ? ORDER BY n`,
			[]any{maxPluginEntry, l.id, int64(after)}, func(scan func(...any) error) error {
				var n uint64
				var sealed []byte
				if err := scan(&n, &sealed); err != nil {
					return err
				}
				if sealed == nil {
					return fmt.Errorf("entry %d has more than the %d bytes that are written", n, maxPluginEntry)
				}
				content, err := l.seal.Open(l.name(n), sealed)
				if err != nil {
					return fmt.Errorf("entry %d: %w", n, err)
				}
				return add(n, content)
			})
	})
}

func ignoreMissing(err error) error {
	if isMissing(err) {
		return nil
	}
	return err
}

// Append implements pluginstorage.Log.
func (l *pluginLog) Append(ctx context.Context, after uint64, entry []byte) error {
	return l.write(ctx, after, [][]byte{entry}, false)
}

// Replace implements pluginstorage.Log.
func (l *pluginLog) Replace(ctx context.Context, after uint64, entries [][]byte) error {
	return l.write(ctx, after, entries, true)
}

// write adds entries if the newest is after, and removes those before if they are replaced.
func (l *pluginLog) write(ctx context.Context, after uint64, entries [][]byte, replace bool) error {
	sealed, size := make([][]byte, len(entries)), 0
	for i, e := range entries {
		sealed[i] = l.seal.Seal(l.name(after+uint64(i)+1), e)
		size += len(sealed[i])
	}
	return l.d.write(ctx, size, func(t *tx) error {
		var head uint64
		err := t.row(`SELECT head FROM plugin_storages WHERE plugin = ?`, []any{l.id}, &head)
		switch {
		case err != nil && !isMissing(err):
			return err
		case head != after:
			return refuse(fs.ErrExist)
		}
		if replace {
			if _, err := t.exec(`DELETE FROM plugin_entries WHERE plugin = ?`, l.id); err != nil {
				return err
			}
		}
		for i, e := range sealed {
			if _, err := t.exec(`INSERT INTO plugin_entries (plugin, n, entry) VALUES (?, ?, ?)`, l.id, int64(after)+int64(i)+1, e); err != nil {
				return err
			}
		}
		_, err = t.exec(`INSERT INTO plugin_storages (plugin, head) VALUES (?, ?) ON CONFLICT (plugin) DO UPDATE SET head = excluded.head`, l.id, int64(after)+int64(len(sealed)))
		return err
	})
}
