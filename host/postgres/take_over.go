package postgres

import (
	"context"
	"fmt"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// Claim implements runstore.Store. A run that this host owns in the database and no claim
// of this process has is free: the answer to an earlier claim or release was lost.
func (d *runs) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	if !sealedrow.IDs.MatchString(id) {
		return nil, runstore.ErrNotFound
	}
	if err := d.ensureLease(ctx); err != nil {
		return nil, err
	}
	if !d.claims.reserve(id) {
		return nil, runstore.ErrClaimed
	}
	var epoch *int64
	var row []byte
	var before *string
	var known, alive bool
	gaps := d.lease.gaps.Load()
	err := d.retry(ctx, func(ctx context.Context) error {
		return d.pool.QueryRow(ctx, `
			WITH claimed AS (
				UPDATE quoin.runs r SET owner = $2, epoch = epoch + 1
				WHERE id = $1 AND NOT gone AND (owner IS NULL OR owner = $2 OR NOT `+live("r.owner")+`)
					AND owner IS NOT DISTINCT FROM (SELECT owner FROM quoin.runs WHERE id = $1) -- as the leases are seen
				RETURNING epoch, seal
			)
			SELECT (SELECT epoch FROM claimed), (SELECT seal FROM claimed), (SELECT owner FROM quoin.runs WHERE id = $1),
				EXISTS (SELECT FROM quoin.runs WHERE id = $1 AND NOT gone),
				EXISTS (SELECT FROM quoin.hosts WHERE id = $2 AND lease_until > clock_timestamp())`, id, d.id).Scan(&epoch, &row, &before, &known, &alive)
	})
	switch {
	case err != nil:
		d.claims.free(id, true)
		return nil, fmt.Errorf("database: %w", err)
	case epoch == nil:
		d.claims.free(id, false)
		if known {
			return nil, runstore.ErrClaimed
		}
		return nil, runstore.ErrNotFound
	}
	if before != nil && *before != d.id { // as the statement found it
		d.health.takeovers.Add(1)
	}
	c := d.newClaim(id, uint64(*epoch), gaps)
	c.row = row
	if err := c.live(ctx, alive); err != nil {
		return nil, err
	}
	return c, nil
}

// live renews the lease of a host that has just claimed a run, if the database takes the lease
// for over: it was paused, and others would take the run at once.
func (c *claim) live(ctx context.Context, alive bool) error {
	if alive {
		return nil
	}
	if err := c.d.renew(ctx); err != nil {
		c.Release()
		return fmt.Errorf("lease of this host: %w", err)
	}
	return nil
}

// live is the condition that a host, the SQL expression h, owned its runs when the statement
// started: it sees no lease that was renewed since, and may have waited for longer than one.
func live(h string) string {
	return "EXISTS (SELECT FROM quoin.hosts h WHERE h.id = " + h + " AND h.lease_until > statement_timestamp())"
}
