package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// PluginStorage returns the key-value storage of a plugin, which all hosts share; it is
// what plugins.OpenStorage is. It calls fail with the reason when the database cannot be
// used, or holds what no host has written. Set it as host.PluginConfig.OpenStorage.
func (d *DB) PluginStorage(id string, fail func(error)) protocol.Storage {
	return pluginstorage.NewShared(id+" in the database", &pluginLog{db: d.conn, id: id, seal: d.Sealer("plugin storage")}, fail)
}

// pluginLog is the log of one plugin's storage, for one pluginstorage.Shared.
type pluginLog struct {
	db   *conn
	id   string
	seal *runstore.Sealer

	newest pluginDigest // read or written last
}

// pluginDigest tells apart entries of one number: the number of a lost entry is given again.
type pluginDigest struct {
	n   uint64
	sum [sha256.Size]byte // of the sealed entry
}

var _ pluginstorage.Log = (*pluginLog)(nil)

// maxPluginEntry bounds an entry with its seal, in bytes.
const maxPluginEntry = pluginstorage.MaxEntry + 1<<10

// name is what an entry is sealed under.
func (l *pluginLog) name(n uint64) string { return fmt.Sprintf("%s/%d", l.id, n) }

// Read implements pluginstorage.Log.
func (l *pluginLog) Read(ctx context.Context, after uint64, add func(uint64, []byte) error) error {
	for more := true; more; {
		page, err := l.page(ctx, after)
		if err != nil {
			return fmt.Errorf("database: %w", err)
		}
		known := len(page) > 0 && page[0].N == after
		if l.hasLost(after, page) {
			return pluginstorage.ErrLost
		}
		if known {
			page = page[1:]
		}
		size := 0
		for _, e := range page {
			if e.Bytes > maxPluginEntry {
				return fmt.Errorf("entry %d has %d bytes, at most %d are written", e.N, e.Bytes, maxPluginEntry)
			}
			content, err := l.seal.Open(l.name(e.N), e.Entry)
			if err != nil {
				return fmt.Errorf("entry %d: %w", e.N, err)
			}
			if err := add(e.N, content); err != nil {
				return err
			}
			after, size = e.N, size+e.Bytes
			l.newest = pluginDigest{e.N, sha256.Sum256(e.Entry)}
		}
		more = isFull(len(page), size)
	}
	return nil
}

// hasLost reports whether the newest entry that this host knows is not there any more, on a
// page that starts with the digest of the entry with that number. Where only that one is
// missing, newer ones have taken its place.
func (l *pluginLog) hasLost(after uint64, page []pluginEntry) bool {
	switch {
	case after == 0 || after != l.newest.n:
		return false
	case len(page) == 0:
		return true
	}
	return page[0].N == after && !bytes.Equal(page[0].Entry, l.newest.sum[:])
}

// page returns the next entries, and before them the digest of the one with the number after.
func (l *pluginLog) page(ctx context.Context, after uint64) (page []pluginEntry, err error) {
	err = l.db.retry(ctx, func(ctx context.Context) error {
		rows, err := l.db.pool.Query(ctx, `
			SELECT n, 0 AS bytes, sha256(entry) AS entry FROM quoin.plugin_entries WHERE plugin = $1 AND n = $2
			UNION ALL SELECT n, bytes, CASE WHEN bytes <= $3 THEN entry END FROM (
				SELECT n, entry, octet_length(entry) AS bytes, sum(octet_length(entry)) OVER (ORDER BY n) AS total FROM (
					SELECT n, entry FROM quoin.plugin_entries WHERE plugin = $1 AND n > $2 ORDER BY n LIMIT $4
				) found
			) sized WHERE total - bytes < $5 ORDER BY n`, l.id, after, maxPluginEntry, pageRows, pageBytes)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, pgx.RowToStructByPos[pluginEntry])
		return err
	})
	return page, err
}

type pluginEntry struct {
	N     uint64
	Bytes int
	Entry []byte // nil if it is too large; the digest of one that was read before
}

// Append implements pluginstorage.Log.
func (l *pluginLog) Append(ctx context.Context, after uint64, entry []byte) error {
	return l.write(ctx, after, [][]byte{entry}, false)
}

// Replace implements pluginstorage.Log.
func (l *pluginLog) Replace(ctx context.Context, after uint64, entries [][]byte) error {
	return l.write(ctx, after, entries, true)
}

// keptAttempts is how many of the newest writes of a storage the database tells apart.
const keptAttempts = 32

// write adds entries in one statement, if the newest is after, and removes those before if
// they are replaced. An attempt that is made again, because the answer to the first was
// lost, finds the name of its write among the newest, also if other hosts have written since.
func (l *pluginLog) write(ctx context.Context, after uint64, entries [][]byte, replace bool) error {
	sealed := make([][]byte, len(entries))
	for i, e := range entries {
		sealed[i] = l.seal.Seal(l.name(after+uint64(i)+1), e)
	}
	name, unsure := rand.Text(), false // an attempt may have counted
	err := l.db.retry(ctx, func(ctx context.Context) error {
		first := !unsure
		unsure = true
		ours, told, err := l.attempt(ctx, name, after, sealed, replace)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fs.ErrExist // there is no storage: what was written is lost
		case err != nil:
			unsure = !first || !pgconn.SafeToRetry(err) && !rolledBack(err)
			return err
		case ours:
			return nil
		case !first && !told:
			return errUnknownWrite
		}
		return fs.ErrExist
	})
	switch {
	case err == nil:
		l.newest = pluginDigest{after + uint64(len(sealed)), sha256.Sum256(sealed[len(sealed)-1])}
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("database: %w", err)
	}
	return err
}

// errUnknownWrite: too many other writes came between the attempts of one.
var errUnknownWrite = errors.New("whether the write counts is not known: its answer was lost, and other hosts have written since")

// attempt makes the statement once. The second one, in the same transaction, sees what the
// first has waited for: ours reports whether the write is in the storage, by this attempt or
// one before. Only if told is set, no says that it is not.
func (l *pluginLog) attempt(ctx context.Context, name string, after uint64, sealed [][]byte, replace bool) (ours, told bool, err error) {
	var batch pgx.Batch
	batch.Queue(`
		WITH head AS (
			INSERT INTO quoin.plugin_storages AS s (plugin, head, attempt)
			SELECT $1, $2::bigint + cardinality($3::bytea[]), $4
			WHERE $2 = 0 OR EXISTS (SELECT FROM quoin.plugin_storages WHERE plugin = $1)
			ON CONFLICT (plugin) DO UPDATE SET head = excluded.head,
				attempt = array_to_string(excluded.attempt || (string_to_array(s.attempt, ' '))[1:$6::int - 1], ' ')
				WHERE s.head = $2
			RETURNING plugin
		), gone AS (
			DELETE FROM quoin.plugin_entries WHERE $5 AND plugin = $1 AND n <= $2 AND EXISTS (SELECT FROM head)
		)
		INSERT INTO quoin.plugin_entries (plugin, n, entry)
		SELECT $1, $2 + i, entry FROM unnest($3::bytea[]) WITH ORDINALITY AS e (entry, i) WHERE EXISTS (SELECT FROM head)`,
		l.id, after, sealed, name, replace, keptAttempts)
	batch.Queue(`
		SELECT $2 = ANY(names), cardinality(names) >= head - $3
		FROM (SELECT head, string_to_array(attempt, ' ') AS names FROM quoin.plugin_storages WHERE plugin = $1) newest`,
		l.id, name, after).QueryRow(func(row pgx.Row) error { return row.Scan(&ours, &told) })
	err = l.db.pool.SendBatch(ctx, &batch).Close()
	return ours, told, err
}
