package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// Reserve implements runstore.Identified.
func (l *lease) Reserve(ctx context.Context, id string) (release func(), err error) {
	if !sealedrow.IDs.MatchString(id) {
		return nil, runstore.ErrNotFound
	}
	if err := l.ensureLease(ctx); err != nil {
		return nil, err
	}
	// A reservation of this host is in the database alone if its release has failed.
	local := ofReserved + id
	if !l.claims.reserve(local) {
		return nil, runstore.ErrClaimed
	}
	var owner string
	err = l.retry(ctx, func(ctx context.Context) error {
		return l.pool.QueryRow(ctx, `
			INSERT INTO quoin.reserved AS r (run, owner) VALUES ($1, $2)
			ON CONFLICT (run) DO UPDATE SET owner = excluded.owner WHERE r.owner = excluded.owner OR NOT `+live("r.owner")+`
			RETURNING owner`, id, l.id).Scan(&owner)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		l.claims.free(local, false)
		return nil, runstore.ErrClaimed
	case err != nil:
		l.claims.free(local, true)
		return nil, fmt.Errorf("database: %w", err)
	}
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), l.times.release)
		defer cancel()
		unreserve := func(ctx context.Context) error {
			_, err := l.pool.Exec(ctx, `DELETE FROM quoin.reserved WHERE run = $1 AND owner = $2`, id, l.id)
			return err
		}
		err := l.attempt(ctx, unreserve)
		if err != nil {
			err = l.attempt(ctx, unreserve)
		}
		if err != nil {
			l.log.Debug("a reservation is released later", "run", id, "error", err)
		}
		l.claims.free(local, err != nil)
	}), nil
}
