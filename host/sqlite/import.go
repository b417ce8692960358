package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
)

// importOnce makes what do makes in one transaction, once for an origin that is not empty: later it
// returns the outcomes of then.
func (f *file) importOnce(ctx context.Context, origin string, do func(*tx) ([]statecopy.Outcome, error)) (outcomes []statecopy.Outcome, err error) {
	err = f.write(ctx, maxWriteBytes, func(t *tx) error {
		var b []byte
		err := t.row(`SELECT outcomes FROM imports WHERE origin = ?`, []any{origin}, &b)
		if err == nil {
			return json.Unmarshal(b, &outcomes)
		}
		if !isMissing(err) {
			return err
		}
		if outcomes, err = do(t); err != nil || origin == "" {
			return err
		}
		if b, err = json.Marshal(outcomes); err == nil {
			_, err = t.exec(`INSERT INTO imports (origin, at, outcomes) VALUES (?, ?, ?)`, origin, now(), b)
		}
		return err
	})
	return outcomes, err
}

// importer adds to a state what another one has. It is a statecopy.Into.
type importer struct {
	d *conn
	t *tx
}

// added makes a statement that adds a row, or finds one there, and returns the number of the row.
func (i *importer) added(text string, args ...any) (n int64, added bool, err error) {
	err = i.t.row(text+` ON CONFLICT DO NOTHING RETURNING n`, args, &n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}

// Run implements statecopy.Into.
func (i *importer) Run(r *runstore.Record) (added bool, err error) {
	row, err := i.d.seal.Record(r, r.Epoch)
	if err != nil {
		return false, err
	}
	n, added, err := i.added(`INSERT INTO runs (id, epoch, generation, expires, timer_due, woken, woken_epoch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?2)`,
		r.ID, int64(r.Epoch), int64(r.Generation), micros(r.Expires), microsOrNull(r.TimerDue), now())
	if added {
		err = insertRecord(i.t, n, row)
	}
	return added, err
}

// Ended implements statecopy.Into.
func (i *importer) Ended(e *runstore.Ended) (added bool, err error) {
	row, err := i.d.seal.Ended(e, e.Epoch)
	if err != nil {
		return false, err
	}
	n, added, err := i.added(`INSERT INTO runs (id, epoch, ended, generation, expires) VALUES (?, ?, 1, 0, ?)`, e.ID, int64(e.Epoch), micros(e.Expires))
	if added {
		err = insertRecord(i.t, n, row)
	}
	return added, err
}

// Effects implements statecopy.Into.
func (i *importer) Effects(j *runstore.Effects) (added bool, err error) {
	header, err := i.d.seal.EffectsHeader(j)
	if err != nil {
		return false, err
	}
	log, _, err := i.d.seal.Effects(header.Seal, j.Effects)
	if err != nil {
		return false, err
	}
	n, added, err := i.added(`INSERT INTO effects (run, created, expires, header, seal) VALUES (?, ?, ?, ?, ?)`,
		j.RunID, micros(j.Created), micros(j.Expires), header.Header, header.Seal)
	for number, e := range log {
		if err != nil || !added {
			break
		}
		_, err = i.t.exec(`INSERT INTO effect_log (run, n, header, seal) VALUES (?, ?, ?, ?)`, n, number+1, e.Header, e.Seal)
	}
	return added, err
}

// Document implements statecopy.Into.
func (i *importer) Document(of statedocs.Purpose, name string, content []byte, expires time.Time) (added bool, err error) {
	if content, err = statedocs.Seal(i.d.key, of, name, content); err != nil {
		return false, err
	}
	ext := path.Ext(name)
	count, err := i.t.count(string(of), ext)
	if err != nil {
		return false, err
	}
	_, added, err = i.added(`INSERT INTO documents (purpose, name, ext, expires, written, content) VALUES (?, ?, ?, ?, ?, ?)`,
		string(of), name, ext, microsOrNull(expires), count, content)
	return added, err
}

// PluginStorage implements statecopy.Into.
func (i *importer) PluginStorage(plugin string, entries [][]byte) (added bool, err error) {
	there, err := i.t.exec(`INSERT INTO plugin_storages (plugin, head) VALUES (?, ?) ON CONFLICT DO NOTHING`, plugin, len(entries))
	if err != nil || there == 0 {
		return false, err
	}
	l := &pluginLog{d: i.d, id: plugin, seal: i.d.key.Sealer("plugin storage")}
	for at, e := range entries {
		n := uint64(at) + 1
		if _, err := i.t.exec(`INSERT INTO plugin_entries (plugin, n, entry) VALUES (?, ?, ?)`, plugin, int64(n), l.seal.Seal(l.name(n), e)); err != nil {
			return false, fmt.Errorf("plugin %s: %w", plugin, err)
		}
	}
	return true, nil
}
