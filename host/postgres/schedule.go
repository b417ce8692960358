package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/runstore"
)

const hintRun = "run"

// Wake implements runstore.Scheduler.
func (d *runs) Wake(ctx context.Context, id string) error {
	var known bool
	err := d.retry(ctx, func(ctx context.Context) error {
		return d.pool.QueryRow(ctx, `
			WITH woken AS (
				UPDATE quoin.runs SET woken = coalesce(woken, now()), woken_epoch = epoch WHERE id = $1 AND NOT ended RETURNING id
			)
			SELECT EXISTS (SELECT FROM woken)`, id).Scan(&known)
	})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if known {
		d.hints.tell(hintRun, id)
	}
	return nil
}

// dueRuns finds at most $1 runs, and how long the oldest of all that are due has been so.
// It reads about as many of each kind: runs with a time that is over, the oldest first, and
// runs of hosts that are gone, owner by owner. The owners are found without a look at each of
// their runs.
const dueRuns = `
	WITH RECURSIVE owners AS (
		(SELECT owner FROM quoin.runs WHERE owner IS NOT NULL AND NOT ended ORDER BY owner LIMIT 1)
	UNION ALL
		SELECT (SELECT r.owner FROM quoin.runs r WHERE r.owner > o.owner AND NOT ended ORDER BY r.owner LIMIT 1)
		FROM owners o WHERE o.owner IS NOT NULL
	), gone AS MATERIALIZED (
		SELECT owner FROM owners o WHERE o.owner IS NOT NULL AND NOT %[2]s
	)
	SELECT id, coalesce(extract(epoch FROM now() - min(due) FILTER (WHERE isfinite(due) AND due <= now()) OVER ()), 0)::float8 FROM (
		(SELECT id, due FROM quoin.runs r
		WHERE due <= now() AND NOT ended AND expires > now() AND (owner IS NULL OR NOT %[1]s) ORDER BY due LIMIT $1)
	UNION
		(SELECT orphan.id, coalesce(orphan.due, '-infinity') FROM gone, LATERAL (
			SELECT id, due FROM quoin.runs r WHERE r.owner = gone.owner AND NOT ended AND expires > now() LIMIT $1
		) orphan LIMIT $1)
	) AS found
	ORDER BY due, id LIMIT $1`

// dueStatement is dueRuns with what says that a host is live.
var dueStatement = fmt.Sprintf(dueRuns, live("r.owner"), live("o.owner"))

// Due implements runstore.Scheduler. A host claims runs that have calls in flight, or that it
// drives. Once its lease is over they are due.
func (d *runs) Due(ctx context.Context, limit int) (ids []string, err error) {
	var lag float64
	err = d.retry(ctx, func(ctx context.Context) error {
		rows, err := d.pool.Query(ctx, dueStatement, limit)
		if err != nil {
			return err
		}
		lag, ids = 0, nil
		var id string
		_, err = pgx.ForEachRow(rows, []any{&id, &lag}, func() error { ids = append(ids, id); return nil })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	d.health.lag.Store(int64(lag * float64(time.Second)))
	return ids, nil
}

// Watch implements runstore.Scheduler.
func (d *runs) Watch(ctx context.Context) <-chan string { return d.hints.watch(ctx, hintRun) }

// Owner implements runstore.Shared.
func (d *runs) Owner(ctx context.Context, id string) (o runstore.Owner, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		return d.pool.QueryRow(ctx, `
			SELECT h.id, h.address, r.epoch FROM quoin.runs r JOIN quoin.hosts h ON h.id = r.owner
			WHERE r.id = $1 AND h.lease_until > statement_timestamp()`, id).Scan(&o.Host, &o.Address, &o.Epoch)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return runstore.Owner{}, runstore.ErrNotFound
	}
	if err != nil {
		return runstore.Owner{}, fmt.Errorf("database: %w", err)
	}
	return o, nil
}

// Peers implements runstore.Shared.
func (l *lease) Peers(ctx context.Context, limit int) (peers []runstore.Peer, err error) {
	err = l.retry(ctx, func(ctx context.Context) error {
		rows, err := l.pool.Query(ctx, `
			SELECT id, address, lease_until FROM quoin.hosts
			WHERE lease_until > statement_timestamp() ORDER BY id LIMIT $1`, limit)
		if err != nil {
			return err
		}
		peers, err = pgx.CollectRows(rows, pgx.RowToStructByPos[runstore.Peer])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return peers, nil
}
