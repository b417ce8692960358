package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
)

// Importer adds to a state what another one has.
type Importer struct {
	d *DB
	t *tx
}

// Import adds all that do adds, or nothing, in one transaction. An origin is taken once: Import
// reports false, and does nothing, if something was imported from it before.
func (d *DB) Import(ctx context.Context, origin string, do func(*Importer) error) (imported bool, err error) {
	return d.importOnce(ctx, origin, func(t *tx) error { return do(&Importer{d: d, t: t}) })
}

// importOnce is Import of one file.
func (f *file) importOnce(ctx context.Context, origin string, do func(*tx) error) (imported bool, err error) {
	err = f.write(ctx, maxWriteBytes, func(t *tx) error {
		n, err := t.exec(`INSERT INTO imports (origin, at) VALUES (?, ?) ON CONFLICT DO NOTHING`, origin, now())
		if imported = err == nil && n > 0; !imported {
			return err
		}
		return do(t)
	})
	return imported && err == nil, err
}

// Run adds a suspended run. Its next claim has an epoch beyond the epoch of the record. The run is
// due: a host looks once whether the run can continue, whatever its marks in the other state were.
func (i *Importer) Run(r *runstore.Record) error {
	row, err := i.d.seal.Record(r, r.Epoch)
	if err != nil {
		return err
	}
	var n int64
	err = i.t.row(`INSERT INTO runs (id, epoch, generation, expires, timer_due, woken, woken_epoch) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?2) RETURNING n`,
		[]any{r.ID, int64(r.Epoch), int64(r.Generation), micros(r.Expires), microsOrNull(r.TimerDue), now()}, &n)
	if err != nil {
		return err
	}
	return insertRecord(i.t, n, row)
}

// Ended adds the result of a run.
func (i *Importer) Ended(e *runstore.Ended) error {
	row, err := i.d.seal.Ended(e, e.Epoch)
	if err != nil {
		return err
	}
	var n int64
	err = i.t.row(`INSERT INTO runs (id, epoch, ended, generation, expires) VALUES (?, ?, 1, 0, ?) RETURNING n`, []any{e.ID, int64(e.Epoch), micros(e.Expires)}, &n)
	if err != nil {
		return err
	}
	return insertRecord(i.t, n, row)
}

// Effects adds the journal of the effects of a run.
func (i *Importer) Effects(j *runstore.Effects) error {
	header, err := i.d.seal.EffectsHeader(j)
	if err != nil {
		return err
	}
	log, _, err := i.d.seal.Effects(header.Seal, j.Effects)
	if err != nil {
		return err
	}
	var n int64
	err = i.t.row(`INSERT INTO effects (run, created, expires, header, seal) VALUES (?, ?, ?, ?, ?) RETURNING n`,
		[]any{j.RunID, micros(j.Created), micros(j.Expires), header.Header, header.Seal}, &n)
	for number, e := range log {
		if err != nil {
			return err
		}
		_, err = i.t.exec(`INSERT INTO effect_log (run, n, header, seal) VALUES (?, ?, ?, ?)`, n, number+1, e.Header, e.Seal)
	}
	return err
}

// Document adds a document of a purpose, with its content as it is kept: sealed or encrypted, but
// for pins.
func (i *Importer) Document(purpose statedocs.Purpose, name string, content []byte, expires time.Time) error {
	if purpose == statedocs.Pins {
		content = statedocs.SealPins(i.d.key, name, content)
	}
	ext := path.Ext(name)
	count, err := i.t.count(string(purpose), ext)
	if err == nil {
		_, err = i.t.exec(`INSERT INTO documents (purpose, name, ext, expires, written, content) VALUES (?, ?, ?, ?, ?, ?)`,
			string(purpose), name, ext, microsOrNull(expires), count, content)
	}
	return err
}

// PluginStorage adds the storage of a plugin, as entries of its log.
func (i *Importer) PluginStorage(plugin string, entries [][]byte) error {
	if len(entries) == 0 {
		return errors.New("a storage without entries")
	}
	l := &pluginLog{d: i.d, id: plugin, seal: i.d.Sealer("plugin storage")}
	for at, e := range entries {
		n := uint64(at) + 1
		if _, err := i.t.exec(`INSERT INTO plugin_entries (plugin, n, entry) VALUES (?, ?, ?)`, plugin, int64(n), l.seal.Seal(l.name(n), e)); err != nil {
			return fmt.Errorf("plugin %s: %w", plugin, err)
		}
	}
	_, err := i.t.exec(`INSERT INTO plugin_storages (plugin, head) VALUES (?, ?)`, plugin, len(entries))
	return err
}
