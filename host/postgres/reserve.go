package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/runstore"
)

// Reserve implements runstore.Identified.
func (d *DB) Reserve(ctx context.Context, id string) (release func(), err error) {
	if !idPattern.MatchString(id) {
		return nil, runstore.ErrNotFound
	}
	if err := d.ensureLease(ctx); err != nil {
		return nil, err
	}
	// A reservation of this host is in the database alone if its release has failed.
	local := ofReserved + id
	if !d.claims.reserve(local) {
		return nil, runstore.ErrClaimed
	}
	var owner string
	err = d.retry(ctx, func(ctx context.Context) error {
		return d.pool.QueryRow(ctx, `
			INSERT INTO quoin.reserved AS r (run, owner) VALUES ($1, $2)
			ON CONFLICT (run) DO UPDATE SET owner = excluded.owner WHERE r.owner = excluded.owner OR NOT `+live("r.owner")+`
			RETURNING owner`, id, d.id).Scan(&owner)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		d.claims.free(local, false)
		return nil, runstore.ErrClaimed
	case err != nil:
		d.claims.free(local, true)
		return nil, fmt.Errorf("database: %w", err)
	}
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), d.times.release)
		defer cancel()
		unreserve := func(ctx context.Context) error {
			_, err := d.pool.Exec(ctx, `DELETE FROM quoin.reserved WHERE run = $1 AND owner = $2`, id, d.id)
			return err
		}
		err := d.attempt(ctx, unreserve)
		if err != nil {
			err = d.attempt(ctx, unreserve)
		}
		if err != nil {
			d.log.Debug("a reservation is released later", "run", id, "error", err)
		}
		d.claims.free(local, err != nil)
	}), nil
}

// reserveAgain puts back what this host has reserved and the database has lost: a sweep
// deletes the reservations of a host once its lease is over, and a failover loses the newest.
// A reservation that is released at the same time is found by findForgotten.
func (d *DB) reserveAgain(ctx context.Context) error {
	runs := d.claims.reserved()
	if len(runs) == 0 {
		return nil
	}
	_, err := d.own.Exec(ctx, `INSERT INTO quoin.reserved (run, owner) SELECT unnest($1::text[]), $2 ON CONFLICT (run) DO NOTHING`, runs, d.id)
	return err
}
