package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// Create implements runstore.Store.
func (d *runs) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	if !sealedrow.IDs.MatchString(r.ID) {
		return nil, fmt.Errorf("run id %q: expected letters, digits, '_' and '-'", r.ID)
	}
	if err := d.ensureLease(ctx); err != nil {
		return nil, err
	}
	epoch := r.Epoch + 1
	r = d.clock.record(r)
	row, err := d.sealer().Record(r, epoch)
	if err != nil {
		return nil, err
	}
	if max, err = d.maximum(ctx, max); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if !d.claims.reserve(r.ID) {
		return nil, runstore.ErrClaimed
	}
	gaps := d.lease.gaps.Load()
	n := creation{d: d, args: []any{
		r.ID, d.id, int64(r.Generation), r.Expires, due(r), row.Header, row.Image, row.ImageSum, row.Seal, max, int64(epoch),
	}}
	err = d.retry(ctx, func(ctx context.Context) error { return d.pool.AcquireFunc(ctx, n.attempt(ctx)) })
	if err == nil && n.made == 0 {
		err = runstore.ErrFull
		if n.known || max <= 0 { // without a limit only another that creates the same run stands in the way, unseen
			err = runstore.ErrClaimed
		}
		d.claims.free(r.ID, false)
		return nil, err
	}
	if err != nil {
		d.claims.free(r.ID, true)
		return nil, fmt.Errorf("database: %w", err)
	}
	c := d.newClaim(r.ID, uint64(n.made), gaps)
	c.holds(r, row, nil)
	return c, nil
}

// creation is a statement that creates a run, with its attempts. One that was given up may
// arrive when a later one has created the run, and the run has ended and is deleted. So
// each attempt counts under one lease alone, and another is made under a newer one.
type creation struct {
	d    *runs
	args []any

	lease  time.Time // of the newest attempt
	unsure bool      // an attempt may have counted
	gaps   uint64    // of the lease, when the first such attempt was made

	made  int64 // the epoch of the claim, or 0
	known bool  // the run exists
}

// attempt makes the statement, and makes it again until the answer counts.
func (n *creation) attempt(ctx context.Context) func(*pgxpool.Conn) error {
	return func(conn *pgxpool.Conn) error {
		for overtaken := 0; ; overtaken++ {
			if counts, err := n.make(ctx, conn, overtaken > 1); counts || err != nil {
				return err
			}
		}
	}
}

// make makes the statement once, and reports whether the answer counts: the lease may have
// been renewed by then. With hold, as for an image that takes longer than that to send, the
// lease is not renewed before the answer is there.
func (n *creation) make(ctx context.Context, conn *pgxpool.Conn, hold bool) (counts bool, err error) {
	if hold {
		ctx, cancel := context.WithTimeout(ctx, n.d.options.Lease*2/3)
		defer cancel()
		if err := n.d.lease.turn.take(ctx); err != nil {
			return false, err
		}
		defer n.d.lease.turn.give()
		if err := n.d.renewInTurn(ctx); err != nil {
			return false, err
		}
		n.lease = *n.d.lease.newest.Load()
		return n.send(ctx, conn)
	}
	if n.lease, err = n.d.leaseAfter(ctx, n.lease); err != nil {
		return false, err
	}
	return n.send(ctx, conn)
}

// send makes the statement under the lease.
func (n *creation) send(ctx context.Context, conn *pgxpool.Conn) (counts bool, err error) {
	gaps := n.d.lease.gaps.Load()
	if n.unsure && gaps != n.gaps { // others may have had the run, and deleted it
		return false, fmt.Errorf("%w: the lease of this host was over before it was known whether the run was created", runstore.ErrUnavailable)
	}
	first := !n.unsure
	if first {
		n.unsure, n.gaps = true, gaps
	}
	err = conn.QueryRow(ctx, createRun, append(n.args, n.lease)...).Scan(&n.made, &n.known, &counts)
	if first && (err == nil && !counts || err != nil && (pgconn.SafeToRetry(err) || rolledBack(err))) {
		n.unsure = false
	}
	return counts, err
}

// createRun creates a run if $12 is the lease of the host still, and says whether it is.
var createRun = `
	WITH lease AS MATERIALIZED (
		SELECT FROM quoin.hosts WHERE id = $2 AND lease_until = $12 AND lease_until > clock_timestamp()
	), made AS (
		INSERT INTO quoin.runs (id, epoch, owner, ended, generation, expires, timer_due, header, image, image_sum, seal)
		SELECT $1, $11, $2, false, $3, $4, $5, $6, $7, $8, $9
		WHERE EXISTS (SELECT FROM lease)
			AND ($10 <= 0 OR (SELECT count(*) FROM (SELECT FROM quoin.runs WHERE NOT ended AND expires > now() LIMIT $10) known) < $10)
		ON CONFLICT (id) DO UPDATE SET
			epoch = CASE WHEN runs.gone THEN greatest(excluded.epoch, runs.epoch + 1) ELSE runs.epoch END,
			owner = excluded.owner, ended = false, gone = false, generation = excluded.generation, expires = excluded.expires,
			timer_due = excluded.timer_due, woken = NULL, woken_epoch = 0,
			header = excluded.header, image = excluded.image, image_sum = excluded.image_sum, seal = excluded.seal
			WHERE runs.gone AND (runs.owner IS NULL OR runs.owner = excluded.owner OR NOT ` + live("runs.owner") + `)
			   OR NOT runs.gone AND runs.owner = excluded.owner AND runs.epoch = excluded.epoch AND runs.seal = excluded.seal
		RETURNING epoch
	)
	SELECT coalesce((SELECT epoch FROM made), 0), EXISTS (SELECT FROM quoin.runs WHERE id = $1), EXISTS (SELECT FROM lease)`
