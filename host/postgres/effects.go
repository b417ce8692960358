package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

var _ runstore.EffectStore = (*effects)(nil)

// effects are the journals of effects of the database.
type effects struct{ *lease }

// readEffects is one journal, of one moment. One that is too large has its size alone.
const readEffects = `
	SELECT sized.bytes, e.header, e.seal, clock_timestamp(), coalesce(l.last, 0), coalesce(l.headers, '{}'), coalesce(l.seals, '{}')
	FROM (
		SELECT run, octet_length(header)::bigint + octet_length(seal)
			+ (SELECT coalesce(sum(octet_length(header) + octet_length(seal)), 0) FROM quoin.effect_log WHERE run = $1) AS bytes
		FROM quoin.effects WHERE run = $1
	) sized LEFT JOIN quoin.effects e ON e.run = sized.run AND sized.bytes <= $2, LATERAL (
		SELECT max(n) AS last, array_agg(header ORDER BY n) AS headers, array_agg(seal ORDER BY n) AS seals
		FROM quoin.effect_log WHERE run = e.run
	) l`

// storedEffects is a journal as the database has it.
type storedEffects struct {
	journal *runstore.Effects
	seal    []byte // of the newest row
	last    int64  // its number
	rows    int
	bytes   int64
	now     time.Time
}

// effectColumns are the rows of a journal, column by column.
type effectColumns struct{ headers, seals [][]byte }

func (e *effectColumns) rows() (rows []sealedrow.Effect, err error) {
	if len(e.headers) != len(e.seals) {
		return nil, sealedrow.Corrupt("a journal of effects with holes")
	}
	for i := range e.headers {
		rows = append(rows, sealedrow.Effect{Header: e.headers[i], Seal: e.seals[i]})
	}
	return rows, nil
}

// effectColumnsOf are the columns of rows.
func effectColumnsOf(rows []sealedrow.Effect) (e effectColumns) {
	for _, row := range rows {
		e.headers, e.seals = append(e.headers, row.Header), append(e.seals, row.Seal)
	}
	return e
}

// readEffects reads a journal, or answers ErrNotFound.
func (d *effects) readEffects(ctx context.Context, runID string) (s storedEffects, err error) {
	if !sealedrow.IDs.MatchString(runID) {
		return s, runstore.ErrNotFound
	}
	var header sealedrow.Effect
	var columns effectColumns
	most := min(d.options.maxRun, sealedrow.MaxEffectsRead)
	err = d.retry(ctx, func(ctx context.Context) error {
		err := d.pool.QueryRow(ctx, readEffects, runID, most).Scan(&s.bytes, &header.Header, &header.Seal, &s.now, &s.last, &columns.headers, &columns.seals)
		if err == nil {
			err = sealedrow.CheckSize(s.bytes, most)
		}
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return s, runstore.ErrNotFound
	}
	if err != nil {
		return s, fmt.Errorf("database: %w", err)
	}
	log, err := columns.rows()
	if err == nil {
		s.journal, err = d.sealer().DecodeEffects(runID, header, log)
	}
	s.seal, s.rows = header.Seal, len(log)
	if s.rows > 0 {
		s.seal = log[s.rows-1].Seal
	}
	return s, err
}

// Effects implements runstore.EffectStore.
func (d *effects) Effects(ctx context.Context, runID string) (*runstore.Effects, error) {
	s, err := d.readEffects(ctx, runID)
	if err != nil {
		return nil, err
	}
	return d.clock.effectsHere(s.journal), sealedrow.Expired(s.journal.Expires, s.now)
}

// ListEffects implements runstore.EffectStore. A journal that does not verify is left out.
func (d *effects) ListEffects(ctx context.Context) (out []*runstore.Effects, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		out = nil
		rows, err := d.pool.Query(ctx, `
			SELECT run, header, seal, clock_timestamp() FROM (
				SELECT * FROM quoin.effects ORDER BY created, run LIMIT $1
			) e WHERE octet_length(run) <= $2 AND octet_length(header)::bigint + octet_length(seal) <= $3 ORDER BY created, run`,
			2*runstore.MaxEffectRuns, maxID, min(d.options.maxRun, sealedrow.MaxEffectHeader+1<<10))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var run string
			var header sealedrow.Effect
			var now time.Time
			if err := rows.Scan(&run, &header.Header, &header.Seal, &now); err != nil {
				return err
			}
			if j, err := d.sealer().DecodeEffects(run, header, nil); err == nil && now.Before(j.Expires) {
				out = append(out, d.clock.effectsHere(j))
			}
		}
		return rows.Err()
	})
	return out, err
}

// OpenEffects implements runstore.EffectStore.
func (d *effects) OpenEffects(ctx context.Context, runID string, header *runstore.Effects) (_ runstore.EffectJournal, err error) {
	if !sealedrow.IDs.MatchString(runID) {
		return nil, runstore.ErrNotFound
	}
	if err := d.ensureLease(ctx); err != nil {
		return nil, err
	}
	if header != nil {
		header = d.clock.effectsThere(header)
	}
	o := &effectJournal{d: d, run: runID, local: ofEffects + runID}
	if !d.claims.reserve(o.local) {
		return nil, runstore.ErrClaimed
	}
	defer func() {
		if err != nil {
			o.release()
		}
	}()
	if err := o.claim(ctx, header); err != nil {
		return nil, err
	}
	s, err := d.readEffects(ctx, runID)
	if err != nil {
		return nil, err
	}
	o.journal, o.seal, o.last, o.rows, o.bytes = s.journal, s.seal, s.last, s.rows, s.bytes
	err = sealedrow.Expired(s.journal.Expires, s.now)
	if err == nil || header == nil {
		return o, err
	}
	o.journal = clone(header)
	o.journal.RunID, o.journal.Effects = runID, nil
	if err = o.rewrite(ctx, true); err != nil {
		return nil, err
	}
	return o, nil
}

// effectJournal is a journal in the hands of its writer.
type effectJournal struct {
	d          *effects
	run, local string
	epoch      int64

	mu      sync.Mutex
	closed  bool
	unsure  bool // what the database has is not known
	journal *runstore.Effects
	seal    []byte
	last    int64
	rows    int
	bytes   int64
}

// claim takes the journal for this host, and makes it if there is a header.
func (o *effectJournal) claim(ctx context.Context, header *runstore.Effects) error {
	if header != nil {
		if err := o.make(ctx, header); err != nil {
			return err
		}
	}
	var known bool
	var epoch *int64
	err := o.d.retry(ctx, func(ctx context.Context) error {
		return o.d.pool.QueryRow(ctx, `
			WITH claimed AS (
				UPDATE quoin.effects e SET owner = $2, epoch = epoch + 1
				WHERE run = $1 AND (owner IS NULL OR owner = $2 OR NOT `+live("e.owner")+`)
					AND owner IS NOT DISTINCT FROM (SELECT owner FROM quoin.effects WHERE run = $1) -- as the leases are seen
				RETURNING epoch
			)
			SELECT (SELECT epoch FROM claimed), EXISTS (SELECT FROM quoin.effects WHERE run = $1)`, o.run, o.d.id).Scan(&epoch, &known)
	})
	switch {
	case err != nil:
		return fmt.Errorf("database: %w", err)
	case epoch == nil && known:
		return runstore.ErrClaimed
	case epoch == nil:
		return runstore.ErrNotFound
	}
	o.epoch = *epoch
	return nil
}

// make makes a journal unless there is one. The journals that were made first make room.
func (o *effectJournal) make(ctx context.Context, header *runstore.Effects) error {
	j := *header
	j.RunID, j.Effects = o.run, nil
	sealed, err := o.d.sealer().EffectsHeader(&j)
	if err != nil {
		return err
	}
	err = o.d.retry(ctx, func(ctx context.Context) error {
		_, err := o.d.pool.Exec(ctx, `
			WITH made AS (
				INSERT INTO quoin.effects (run, epoch, created, expires, header, seal) VALUES ($1, 0, $2, $3, $4, $5)
				ON CONFLICT (run) DO NOTHING RETURNING run
			), old AS (
				SELECT run FROM quoin.effects e WHERE EXISTS (SELECT FROM made) AND run IN (
					SELECT run FROM quoin.effects ORDER BY created DESC, run DESC OFFSET $6
				) AND (owner IS NULL OR NOT `+live("e.owner")+`) FOR UPDATE SKIP LOCKED
			), gone AS (
				DELETE FROM quoin.effects WHERE run IN (SELECT run FROM old)
			)
			DELETE FROM quoin.effect_log WHERE run IN (SELECT run FROM old)`,
			o.run, j.Created, j.Expires, sealed.Header, sealed.Seal, runstore.MaxEffectRuns-1)
		return err
	})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

// Effects implements runstore.EffectJournal.
func (o *effectJournal) Effects() *runstore.Effects {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.d.clock.effectsHere(o.journal)
}

// Put implements runstore.EffectJournal. Without sync the database answers before the
// effects are on its disk.
func (o *effectJournal) Put(sync bool, effects ...runstore.Effect) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return runstore.ErrClaimed
	}
	ctx := o.d.ctx
	omitted := o.journal.Omitted
	kept := o.journal.Apply(effects...)
	if o.unsure || o.journal.Omitted != omitted || o.rows+len(kept) > sealedrow.MaxEffectRows || o.bytes > sealedrow.MaxEffectLog {
		return o.rewrite(ctx, sync)
	}
	log, size, err := o.d.sealer().Effects(o.seal, kept)
	if err != nil || len(log) == 0 {
		return err
	}
	whole, err := o.write(ctx, sync, sealedrow.Effect{}, log)
	if err != nil {
		return err
	}
	if !whole { // the database has lost rows or the epoch, by a crash or a failover, or the journal is another's
		return o.rewrite(ctx, sync)
	}
	o.seal, o.last, o.rows = log[len(log)-1].Seal, o.last+int64(len(log)), o.rows+len(log)
	o.bytes += size
	return nil
}

// rewrite puts the journal as it is in the place of the rows that the database has. A write
// that was given up, or made again, may still arrive: it has an epoch that is over.
func (o *effectJournal) rewrite(ctx context.Context, sync bool) error {
	header, err := o.d.sealer().EffectsHeader(o.journal)
	if err != nil {
		return err
	}
	log, size, err := o.d.sealer().Effects(header.Seal, o.journal.Effects)
	if err != nil {
		return err
	}
	if err := o.fence(ctx); err != nil {
		return err
	}
	whole, err := o.write(ctx, sync, header, log)
	if err != nil {
		return err
	}
	if !whole {
		return runstore.ErrFenced
	}
	if o.seal = header.Seal; len(log) > 0 {
		o.seal = log[len(log)-1].Seal
	}
	o.last, o.rows, o.bytes = o.last+int64(len(log)), len(log), size
	return nil
}

// fence has this writer continue under the next epoch. A fence that is made again, or comes
// late, sets the same epoch. That the owner is this process tells that no other has the
// journal: a failover may have lost the epochs of the newest fences.
func (o *effectJournal) fence(ctx context.Context) error {
	epoch := o.epoch
	var fenced int64
	err := o.d.retry(ctx, func(ctx context.Context) error {
		tag, err := o.d.pool.Exec(ctx, `
			UPDATE quoin.effects SET epoch = $2::bigint + 1
			WHERE run = $1 AND epoch <= $2::bigint + 1 AND owner = $3`, o.run, epoch, o.d.id)
		fenced = tag.RowsAffected()
		return err
	})
	switch {
	case err != nil:
		o.unsure = true
		return fmt.Errorf("database: %w", err)
	case fenced == 0:
		return runstore.ErrFenced
	}
	o.epoch++
	return nil
}

// write adds rows after the newest, or in the place of those before if there is a header. The
// numbers of rows only rise, so that a statement does not meet the rows that it deletes. It
// adds none, and the journal is not whole, if the database does not have the newest, or the
// journal is not this writer's.
func (o *effectJournal) write(ctx context.Context, sync bool, header sealedrow.Effect, log []sealedrow.Effect) (whole bool, err error) {
	columns := effectColumnsOf(log)
	args := []any{o.run, o.epoch, o.d.id, sync, header.Header, header.Seal, o.last, columns.headers, columns.seals, o.journal.Expires, o.seal}
	err = o.d.retry(ctx, func(ctx context.Context) error {
		return o.d.pool.QueryRow(ctx, `
			WITH durable AS (
				SELECT set_config('synchronous_commit', CASE WHEN $4 THEN current_setting('synchronous_commit') ELSE 'off' END, true)
			), mine AS (
				UPDATE quoin.effects SET header = coalesce($5, header), seal = coalesce($6, seal), expires = $10
				WHERE run = $1 AND epoch = $2 AND owner = $3 AND EXISTS (SELECT FROM durable) RETURNING run, seal
			), whole AS (
				SELECT run FROM mine
				WHERE $5::bytea IS NOT NULL
					OR $11::bytea = coalesce((SELECT seal FROM quoin.effect_log WHERE run = $1 AND n = $7::bigint), mine.seal)
			), superseded AS (
				DELETE FROM quoin.effect_log WHERE $5::bytea IS NOT NULL AND n <= $7::bigint AND run IN (SELECT run FROM whole)
			), wrote AS (
				INSERT INTO quoin.effect_log (run, n, header, seal)
				SELECT whole.run, $7::bigint + row.n, row.header, row.seal
				FROM whole, unnest($8::bytea[], $9::bytea[]) WITH ORDINALITY AS row (header, seal, n)
				ON CONFLICT (run, n) DO UPDATE SET seal = excluded.seal WHERE effect_log.seal = excluded.seal
				RETURNING n
			)
			SELECT EXISTS (SELECT FROM whole) AND (SELECT count(*) FROM wrote) = coalesce(cardinality($8::bytea[]), 0)`, args...).Scan(&whole)
	})
	if err != nil || !whole {
		o.unsure, o.last = true, o.last+int64(len(log)) // rows that may be there have numbers of their own
	}
	if err != nil {
		return false, fmt.Errorf("database: %w", err)
	}
	if whole {
		o.unsure = false
	}
	return whole, nil
}

// Close implements runstore.EffectJournal.
func (o *effectJournal) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.release()
	}
}

// release lets others have the journal. If the database cannot be told, or had nothing to
// release, it is told later, as for the claim of a run.
func (o *effectJournal) release() {
	ctx, cancel := context.WithTimeout(context.Background(), o.d.times.release)
	defer cancel()
	tag, err := o.d.pool.Exec(ctx, `UPDATE quoin.effects SET owner = NULL WHERE run = $1 AND epoch = $2 AND owner = $3`, o.run, o.epoch, o.d.id)
	o.d.claims.free(o.local, err != nil || tag.RowsAffected() == 0)
}
