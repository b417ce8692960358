package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// Bounds of the results that hosts of one database keep. Those that expire first make
// room, when results are swept.
const (
	maxEnded      = 1 << 17
	maxEndedBytes = 8 << 30
)

// What one statement of a sweep deletes: a statement that takes too long is undone as a
// whole, and the next sweep would not come further.
const (
	sweepRows  = 100
	sweepBytes = 256 << 20 // of runs, and of trajectories
)

// Sweep implements runstore.Store. What has expired is told by the clock of the
// database, unless now is before it. A step that fails keeps no other from being made,
// unless the database is away.
func (d *DB) Sweep(ctx context.Context, now time.Time) (left int, err error) {
	for _, step := range []func() error{
		func() error { return d.sweepRuns(ctx, now) },
		func() error { return d.sweepResults(ctx) },
		func() error { return d.sweepLeases(ctx) },
		func() error { return d.claims.findForgottenResults(ctx) },
		func() error { return d.sweepEffects(ctx, now) },
		func() (err error) { left, err = d.countSuspended(ctx); return err },
	} {
		failed := step()
		err = errors.Join(err, failed)
		if failed != nil && (ctx.Err() != nil || away(failed)) {
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("database: %w", err)
	}
	return left, nil
}

// away reports whether a statement has failed that any other would fail with, too, and not
// because it was too much at once.
func away(err error) bool {
	return errors.Is(err, runstore.ErrUnavailable) && !isCode(err, queryCanceled)
}

func (d *runs) countSuspended(ctx context.Context) (n int, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		return d.pool.QueryRow(ctx, `SELECT count(*) FROM quoin.runs WHERE NOT ended`).Scan(&n)
	})
	return n, err
}

// inBatches makes a statement until it answers that there is no more. Its last argument is
// how many rows it may delete.
func (c *conn) inBatches(ctx context.Context, statement string, args ...any) error {
	for {
		if more, err := c.batch(ctx, statement, args...); err != nil || !more {
			return err
		}
	}
}

// batch makes the statement of inBatches once.
func (c *conn) batch(ctx context.Context, statement string, args ...any) (more bool, err error) {
	args = append(args, cmp.Or(c.options.sweepRows, sweepRows))
	err = c.retry(ctx, func(ctx context.Context) error { return c.pool.QueryRow(ctx, statement, args...).Scan(&more) })
	return more, err
}

// sweepRuns deletes runs and results that have expired, those that an index finds apart. Few
// are gone, and no index has them.
func (d *runs) sweepRuns(ctx context.Context, now time.Time) (err error) {
	for _, those := range []string{"NOT ended", "ended AND NOT gone", "gone"} {
		err = errors.Join(err, d.inBatches(ctx, `
			WITH old AS (
				SELECT id, expires, octet_length(image) + `+runBytes+` AS bytes FROM quoin.runs r
				WHERE `+those+` AND expires <= least($1, statement_timestamp()) AND (owner IS NULL OR NOT `+live("r.owner")+`)
				ORDER BY expires LIMIT $3 FOR UPDATE SKIP LOCKED
			), batch AS (
				SELECT id FROM (SELECT id, bytes, sum(bytes) OVER (ORDER BY expires, id) AS total FROM old) sized WHERE total - bytes < $2
			), gone AS (
				DELETE FROM quoin.runs WHERE id IN (SELECT id FROM batch)
			), journal AS (
				DELETE FROM quoin.journal WHERE run IN (SELECT id FROM batch)
			)
			SELECT (SELECT count(*) FROM old) = $3 OR EXISTS (SELECT FROM old WHERE id NOT IN (SELECT id FROM batch))`,
			now, cmp.Or(d.options.sweepBytes, sweepBytes)))
		if away(err) {
			break
		}
	}
	return err
}

// sweepResults deletes the results beyond the bounds.
func (d *runs) sweepResults(ctx context.Context) error {
	return d.inBatches(ctx, `
		WITH results AS (
			SELECT id, row_number() OVER newest AS count, sum(octet_length(image)) OVER newest AS bytes
			FROM quoin.runs WHERE ended AND NOT gone WINDOW newest AS (ORDER BY expires DESC, id DESC)
		), many AS (
			SELECT id FROM quoin.runs WHERE ended AND owner IS NULL AND id IN (
				SELECT id FROM results WHERE count > $1 OR bytes > $2
			) ORDER BY expires LIMIT $3 FOR UPDATE SKIP LOCKED
		), gone AS (
			DELETE FROM quoin.runs WHERE id IN (SELECT id FROM many)
		)
		SELECT count(*) = $3 FROM many`, cmp.Or(d.options.maxEnded, maxEnded), int64(maxEndedBytes))
}

// sweepLeases deletes what hosts have left that are gone.
func (l *lease) sweepLeases(ctx context.Context) error {
	return l.retry(ctx, func(ctx context.Context) error {
		_, err := l.pool.Exec(ctx, `
			WITH reserved AS (
				DELETE FROM quoin.reserved r WHERE NOT `+live("r.owner")+`
			), hosts AS (
				DELETE FROM quoin.hosts WHERE lease_until < statement_timestamp() - interval '1 day'
			)
			DELETE FROM quoin.document_locks WHERE until < statement_timestamp() - interval '1 day'`)
		return err
	})
}

// sweepEffects deletes the journals that have expired and have no writer.
func (d *effects) sweepEffects(ctx context.Context, now time.Time) error {
	return d.inBatches(ctx, `
		WITH old AS (
			SELECT run FROM quoin.effects e
			WHERE expires <= least($1, statement_timestamp()) AND (owner IS NULL OR NOT `+live("e.owner")+`)
			ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED
		), gone AS (
			DELETE FROM quoin.effects WHERE run IN (SELECT run FROM old)
		), log AS (
			DELETE FROM quoin.effect_log WHERE run IN (SELECT run FROM old)
		)
		SELECT count(*) = $2 FROM old`, now)
}
