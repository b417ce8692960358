package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

const (
	// runBytes is the size of a run r without its image, with its journal.
	runBytes = `
		octet_length(r.header)::bigint + octet_length(r.image_sum) + octet_length(r.seal)
		+ (SELECT coalesce(sum(octet_length(header)::bigint + octet_length(body) + octet_length(seal)), 0)::bigint FROM quoin.journal WHERE run = r.id)`
	// journalOf is the journal of a run r.
	journalOf = `LATERAL (
		SELECT coalesce(array_agg(header ORDER BY n), '{}') AS headers, coalesce(array_agg(body ORDER BY n), '{}') AS bodies,
			coalesce(array_agg(seal ORDER BY n), '{}') AS seals
		FROM quoin.journal WHERE run = r.id AND NOT r.ended
	) j`
	// readRun is one run with its journal, of one moment. One that is too large has its size
	// alone.
	readRun = `
	SELECT sized.ended, sized.epoch, sized.owner, clock_timestamp(), sized.bytes,
		r.header, r.image, r.image_sum, r.seal, j.headers, j.bodies, j.seals
	FROM (
		SELECT id, ended, epoch, coalesce(owner, '') AS owner, octet_length(r.image) + ` + runBytes + ` AS bytes FROM quoin.runs r WHERE r.id = $1 AND NOT r.gone
	) sized LEFT JOIN quoin.runs r ON r.id = sized.id AND sized.bytes <= $2, ` + journalOf
)

// runs are the runs and results of the database.
type runs struct {
	*lease
	hints *hints
	known knownRuns
}

// stored is a run as the database has it.
type stored struct {
	row     sealedrow.Run
	epoch   uint64
	owner   string // the id of a host, or empty
	journal []sealedrow.Journal
	now     time.Time // by the clock of the database
}

// read reads a run, or answers ErrNotFound.
func (d *runs) read(ctx context.Context, id string) (s stored, err error) {
	if !sealedrow.IDs.MatchString(id) {
		return s, runstore.ErrNotFound
	}
	err = d.retry(ctx, func(ctx context.Context) error {
		var bytes int64
		var j journalColumns
		r := &s.row
		err := d.pool.QueryRow(ctx, readRun, id, d.options.maxRun).Scan(&r.Ended, &s.epoch, &s.owner, &s.now, &bytes,
			&r.Header, &r.Image, &r.ImageSum, &r.Seal, &j.headers, &j.bodies, &j.seals)
		if err == nil {
			err = sealedrow.CheckSize(bytes, d.options.maxRun)
		}
		if err == nil {
			s.journal, err = j.rows()
		}
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = runstore.ErrNotFound
	}
	return s, err
}

// journalColumns are the rows of a journal, column by column.
type journalColumns struct{ headers, bodies, seals [][]byte }

func (j *journalColumns) rows() ([]sealedrow.Journal, error) {
	if len(j.headers) != len(j.bodies) || len(j.headers) != len(j.seals) {
		return nil, sealedrow.Corrupt("a journal with holes")
	}
	rows := make([]sealedrow.Journal, len(j.headers))
	for i := range rows {
		rows[i] = sealedrow.Journal{Header: j.headers[i], Body: j.bodies[i], Seal: j.seals[i]}
	}
	return rows, nil
}

// Get implements runstore.Store.
func (d *runs) Get(ctx context.Context, id string) (*runstore.Record, error) {
	s, err := d.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.row.Ended {
		return nil, runstore.ErrEnded
	}
	r, err := d.sealer().DecodeRecord(id, &s.row, s.journal, true)
	if err != nil {
		return nil, err
	}
	err = sealedrow.Expired(r.Expires, s.now)
	d.clock.recordHere(r)
	return r, err
}

// Ended implements runstore.Store.
func (d *runs) Ended(ctx context.Context, id string) (*runstore.Ended, error) {
	s, err := d.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if !s.row.Ended {
		return nil, runstore.ErrNotFound
	}
	e, err := d.sealer().DecodeEnded(id, &s.row)
	if err != nil {
		return nil, err
	}
	if err := sealedrow.Expired(e.Expires, s.now); err != nil {
		return nil, err
	}
	e.Expires = d.clock.here(e.Expires)
	return e, nil
}

// List implements runstore.Store. It reads no images, and each run as it is when its page
// is read.
func (d *runs) List(ctx context.Context) (out []*runstore.Record, err error) {
	for after, more := "", true; more; {
		var page []listedRun
		if page, err = d.page(ctx, after); err != nil {
			return nil, err
		}
		bytes := 0
		for _, l := range page {
			if l.record != nil {
				out = append(out, l.record)
			}
			after, bytes = l.id, bytes+l.bytes
		}
		more = isFull(len(page), bytes)
	}
	return out, nil
}

// listedRun is a run of a page.
type listedRun struct {
	id     string
	bytes  int              // of the run without its image
	record *runstore.Record // nil if it does not verify
}

// page returns the runs that come next, in the order of their ids.
func (d *runs) page(ctx context.Context, after string) (page []listedRun, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		rows, err := d.pool.Query(ctx, `
			SELECT page.id, page.bytes, octet_length(r.image), clock_timestamp(),
				r.header, r.image_sum, r.seal, j.headers, j.bodies, j.seals
			FROM (
				SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS total FROM (
					SELECT id, `+runBytes+` AS bytes FROM quoin.runs r WHERE NOT ended AND id > $1 ORDER BY id LIMIT $2
				) found
			) page LEFT JOIN quoin.runs r ON r.id = page.id AND page.bytes <= $3, `+journalOf+`
			WHERE page.total - page.bytes < $4 ORDER BY page.id`, after, pageRows, d.options.maxRun, pageBytes)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, d.scanListed)
		return err
	})
	return page, err
}

// scanListed reads a run without its image.
func (d *runs) scanListed(row pgx.CollectableRow) (l listedRun, err error) {
	var image *int
	var now time.Time
	var r sealedrow.Run
	var j journalColumns
	if err := row.Scan(&l.id, &l.bytes, &image, &now, &r.Header, &r.ImageSum, &r.Seal, &j.headers, &j.bodies, &j.seals); err != nil || image == nil {
		return l, err
	}
	journal, err := j.rows()
	if err == nil {
		l.record, err = d.sealer().DecodeRecord(l.id, &r, journal, false)
	}
	if err == nil {
		r := l.record
		r.ImageBytes = *image
		err = sealedrow.Expired(r.Expires, now)
		d.clock.recordHere(r)
	}
	switch {
	case errors.Is(err, runstore.ErrCorrupt), errors.Is(err, runstore.ErrFormat), errors.Is(err, runstore.ErrExpired):
		l.record, err = nil, nil
	}
	return l, err
}
