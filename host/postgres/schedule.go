package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/runstore"
)

var (
	_ runstore.Scheduler = (*DB)(nil)
	_ runstore.Shared    = (*DB)(nil)
)

const hintRun = "run"

// Wake implements runstore.Scheduler.
func (d *DB) Wake(ctx context.Context, id string) error {
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
		d.hint(hintRun, id)
	}
	return nil
}

// Due implements runstore.Scheduler. A host claims runs whose calls are in flight, or that it
// drives: those of a host whose lease is over are due.
func (d *DB) Due(ctx context.Context, limit int) (ids []string, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		rows, err := d.pool.Query(ctx, `
			SELECT id FROM (
				SELECT id, due FROM quoin.runs r
				WHERE due <= now() AND NOT ended AND expires > now() AND (owner IS NULL OR NOT `+live("r.owner")+`)
			UNION
				SELECT id, coalesce(due, '-infinity') FROM quoin.runs r
				WHERE owner IS NOT NULL AND NOT ended AND expires > now() AND NOT `+live("r.owner")+`
			) AS found
			ORDER BY due, id LIMIT $1`, limit)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return ids, nil
}

// Watch implements runstore.Scheduler.
func (d *DB) Watch(ctx context.Context) <-chan string { return d.watch(ctx, hintRun) }

// Owner implements runstore.Shared.
func (d *DB) Owner(ctx context.Context, id string) (o runstore.Owner, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		return d.pool.QueryRow(ctx, `
			SELECT h.id, h.address, r.epoch FROM quoin.runs r JOIN quoin.hosts h ON h.id = r.owner
			WHERE r.id = $1 AND h.lease_until > clock_timestamp()`, id).Scan(&o.Host, &o.Address, &o.Epoch)
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
func (d *DB) Peers(ctx context.Context, limit int) (peers []runstore.Peer, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		rows, err := d.pool.Query(ctx, `
			SELECT id, address, lease_until FROM quoin.hosts
			WHERE lease_until > clock_timestamp() ORDER BY id LIMIT $1`, limit)
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
