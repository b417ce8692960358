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
	// A reservation of this host in the database alone is one whose release has failed.
	local := "reserved " + id
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
	if err != nil {
		d.claims.free(local, false)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, runstore.ErrClaimed
		}
		return nil, fmt.Errorf("database: %w", err)
	}
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
		defer cancel()
		if _, err := d.pool.Exec(ctx, `DELETE FROM quoin.reserved WHERE run = $1 AND owner = $2`, id, d.id); err != nil {
			d.log.Debug("a reservation ends with this host", "run", id, "error", err)
		}
		d.claims.free(local, false)
	}), nil
}
