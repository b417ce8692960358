package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
)

// importer adds to the database what another state has. It is a statecopy.Into.
type importer struct {
	ctx context.Context
	d   *DB
	tx  pgx.Tx
}

// Import implements statecopy.State.
func (c copied) Import(ctx context.Context, origin string, do func(statecopy.Into) ([]statecopy.Outcome, error)) (outcomes []statecopy.Outcome, err error) {
	if err := c.ensureLease(ctx); err != nil { // it compares the clocks
		return nil, err
	}
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		var b []byte
		err := tx.QueryRow(ctx, `SELECT outcomes FROM quoin.imports WHERE origin = $1`, origin).Scan(&b)
		if err == nil {
			return json.Unmarshal(b, &outcomes)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if outcomes, err = do(&importer{ctx, c.DB, tx}); err != nil || origin == "" {
			return err
		}
		if b, err = json.Marshal(outcomes); err == nil {
			_, err = tx.Exec(ctx, `INSERT INTO quoin.imports (origin, outcomes) VALUES ($1, $2)`, origin, b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("database: %w", explained(err))
	}
	return outcomes, nil
}

// added makes a statement that adds a row, unless there is one.
func (i *importer) added(text string, args ...any) (bool, error) {
	tag, err := i.tx.Exec(i.ctx, text+` ON CONFLICT DO NOTHING`, args...)
	return err == nil && tag.RowsAffected() > 0, err
}

// Run implements statecopy.Into.
func (i *importer) Run(r *runstore.Record) (bool, error) {
	r = i.d.clock.record(r)
	row, err := i.d.sealer().Record(r, r.Epoch)
	if err != nil {
		return false, err
	}
	return i.added(`
		INSERT INTO quoin.runs (id, epoch, ended, generation, expires, timer_due, woken, woken_epoch, header, image, image_sum, seal)
		VALUES ($1, $2, false, $3, $4, $5, clock_timestamp(), $2, $6, $7, $8, $9)`,
		r.ID, int64(r.Epoch), int64(r.Generation), r.Expires, due(r), row.Header, row.Image, row.ImageSum, row.Seal)
}

// Ended implements statecopy.Into.
func (i *importer) Ended(e *runstore.Ended) (bool, error) {
	there := *e
	there.Expires = i.d.clock.there(e.Expires)
	row, err := i.d.sealer().Ended(&there, e.Epoch)
	if err != nil {
		return false, err
	}
	return i.added(`
		INSERT INTO quoin.runs (id, epoch, ended, generation, expires, header, image, image_sum, seal) VALUES ($1, $2, true, 0, $3, $4, $5, $6, $7)`,
		e.ID, int64(e.Epoch), there.Expires, row.Header, row.Image, row.ImageSum, row.Seal)
}

// Effects implements statecopy.Into.
func (i *importer) Effects(j *runstore.Effects) (bool, error) {
	j = i.d.clock.effectsThere(j)
	header, err := i.d.sealer().EffectsHeader(j)
	if err != nil {
		return false, err
	}
	log, _, err := i.d.sealer().Effects(header.Seal, j.Effects)
	if err != nil {
		return false, err
	}
	added, err := i.added(`INSERT INTO quoin.effects (run, epoch, created, expires, header, seal) VALUES ($1, 0, $2, $3, $4, $5)`,
		j.RunID, j.Created, j.Expires, header.Header, header.Seal)
	if err == nil && added {
		rows := effectColumnsOf(log)
		_, err = i.tx.Exec(i.ctx, `
			INSERT INTO quoin.effect_log (run, n, header, seal)
			SELECT $1, n, header, seal FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS e (header, seal, n)`, j.RunID, rows.headers, rows.seals)
	}
	return added, err
}

// Document implements statecopy.Into.
func (i *importer) Document(of statedocs.Purpose, name string, content []byte, expires time.Time) (bool, error) {
	content, err := statedocs.Seal(i.d.options.Key, of, name, content)
	if err != nil {
		return false, err
	}
	var until *time.Time
	if !expires.IsZero() {
		until = &expires
	}
	return i.added(`INSERT INTO quoin.documents (purpose, name, ext, content, expires, attempt) VALUES ($1, $2, $3, $4, $5, $6)`,
		string(of), name, path.Ext(name), content, until, rand.Text())
}

// PluginStorage implements statecopy.Into.
func (i *importer) PluginStorage(plugin string, entries [][]byte) (bool, error) {
	l := &pluginLog{db: i.d.conn, id: plugin, seal: i.d.Sealer("plugin storage")}
	sealed := make([][]byte, len(entries))
	for n, e := range entries {
		sealed[n] = l.seal.Seal(l.name(uint64(n)+1), e)
	}
	added, err := i.added(`INSERT INTO quoin.plugin_storages (plugin, head, attempt) VALUES ($1, $2, $3)`, plugin, len(entries), rand.Text())
	if err == nil && added {
		_, err = i.tx.Exec(i.ctx, `
			INSERT INTO quoin.plugin_entries (plugin, n, entry) SELECT $1, n, entry FROM unnest($2::bytea[]) WITH ORDINALITY AS e (entry, n)`, plugin, sealed)
	}
	return added, err
}
