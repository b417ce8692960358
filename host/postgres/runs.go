package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/runstore"
)

// readRun is one run with its journal, of one moment.
const readRun = `
	SELECT r.ended, r.epoch, r.header, r.image, r.image_sum, r.seal, clock_timestamp(),
	       coalesce(j.headers, '{}'), coalesce(j.bodies, '{}'), coalesce(j.seals, '{}')
	FROM quoin.runs r, LATERAL (
		SELECT array_agg(header ORDER BY n) AS headers, array_agg(body ORDER BY n) AS bodies, array_agg(seal ORDER BY n) AS seals
		FROM quoin.journal WHERE run = r.id AND NOT r.ended
	) j
	WHERE r.id = $1 AND NOT r.gone`

// stored is a run as the database has it.
type stored struct {
	row     runRow
	epoch   uint64
	journal []journalRow
	now     time.Time // by the clock of the database
}

// read reads a run, or answers ErrNotFound.
func (d *DB) read(ctx context.Context, id string) (s stored, err error) {
	if !idPattern.MatchString(id) {
		return s, runstore.ErrNotFound
	}
	err = d.retry(ctx, func(ctx context.Context) error {
		var headers, bodies, seals [][]byte
		r := &s.row
		err := d.pool.QueryRow(ctx, readRun, id).Scan(&r.ended, &s.epoch, &r.header, &r.image, &r.imageSum, &r.sealed, &s.now, &headers, &bodies, &seals)
		if err != nil {
			return err
		}
		if len(headers) != len(bodies) || len(headers) != len(seals) {
			return corrupt("a journal with holes")
		}
		s.journal = make([]journalRow, len(headers))
		for i := range headers {
			s.journal[i] = journalRow{headers[i], bodies[i], seals[i]}
		}
		return nil
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = runstore.ErrNotFound
	}
	return s, err
}

// Get implements runstore.Store.
func (d *DB) Get(ctx context.Context, id string) (*runstore.Record, error) {
	s, err := d.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.row.ended {
		return nil, runstore.ErrEnded
	}
	r, err := d.decodeRecord(id, &s.row, s.journal, true)
	if err != nil {
		return nil, err
	}
	err = expired(r.Expires, s.now)
	r.Expires, r.TimerDue = d.clock.here(r.Expires), d.clock.here(r.TimerDue)
	return r, err
}

// Ended implements runstore.Store.
func (d *DB) Ended(ctx context.Context, id string) (*runstore.Ended, error) {
	s, err := d.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if !s.row.ended {
		return nil, runstore.ErrNotFound
	}
	e, err := d.decodeEnded(id, &s.row)
	if err != nil {
		return nil, err
	}
	if err := expired(e.Expires, s.now); err != nil {
		return nil, err
	}
	e.Expires = d.clock.here(e.Expires)
	return e, nil
}

// List implements runstore.Store. It reads no images.
func (d *DB) List(ctx context.Context) (out []*runstore.Record, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		out = nil
		rows, err := d.pool.Query(ctx, `
			SELECT r.id, r.header, octet_length(r.image), r.image_sum, r.seal, clock_timestamp(),
			       coalesce(j.headers, '{}'), coalesce(j.bodies, '{}'), coalesce(j.seals, '{}')
			FROM quoin.runs r, LATERAL (
				SELECT array_agg(header ORDER BY n) AS headers, array_agg(body ORDER BY n) AS bodies, array_agg(seal ORDER BY n) AS seals
				FROM quoin.journal WHERE run = r.id
			) j
			WHERE NOT r.ended`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := d.scanListed(rows)
			switch {
			case err == nil:
				out = append(out, r)
			case errors.Is(err, runstore.ErrCorrupt), errors.Is(err, runstore.ErrFormat), errors.Is(err, runstore.ErrExpired):
			default:
				return err
			}
		}
		return rows.Err()
	})
	return out, err
}

// scanListed reads a run without its image.
func (d *DB) scanListed(rows pgx.Rows) (*runstore.Record, error) {
	var id string
	var size int
	var now time.Time
	var headers, bodies, seals [][]byte
	var row runRow
	if err := rows.Scan(&id, &row.header, &size, &row.imageSum, &row.sealed, &now, &headers, &bodies, &seals); err != nil {
		return nil, err
	}
	if len(headers) != len(bodies) || len(headers) != len(seals) {
		return nil, corrupt("a journal with holes")
	}
	journal := make([]journalRow, len(headers))
	for i := range headers {
		journal[i] = journalRow{headers[i], bodies[i], seals[i]}
	}
	r, err := d.decodeRecord(id, &row, journal, false)
	if err != nil {
		return nil, err
	}
	r.ImageBytes = size
	err = expired(r.Expires, now)
	r.Expires, r.TimerDue = d.clock.here(r.Expires), d.clock.here(r.TimerDue)
	return r, err
}

// Sweep implements runstore.Store. What has expired is told by the clock of the
// database, unless now is before it.
func (d *DB) Sweep(ctx context.Context, now time.Time) (left int, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		return d.pool.QueryRow(ctx, `
			WITH old AS (
				SELECT id FROM quoin.runs r
				WHERE expires <= least($1, clock_timestamp()) AND (owner IS NULL OR NOT `+live("r.owner")+`)
				FOR UPDATE SKIP LOCKED
			), gone AS (
				DELETE FROM quoin.runs WHERE id IN (SELECT id FROM old) RETURNING id, ended
			), journal AS (
				DELETE FROM quoin.journal WHERE run IN (SELECT id FROM old)
			), reserved AS (
				DELETE FROM quoin.reserved r WHERE NOT `+live("r.owner")+`
			), hosts AS (
				DELETE FROM quoin.hosts WHERE lease_until < clock_timestamp() - interval '1 day'
			)
			SELECT (SELECT count(*) FROM quoin.runs WHERE NOT ended) - (SELECT count(*) FROM gone WHERE NOT ended)`, now).Scan(&left)
	})
	if err == nil {
		err = d.sweepEffects(ctx, now)
	}
	if err != nil {
		return 0, fmt.Errorf("database: %w", err)
	}
	return left, nil
}
