package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// stored is a run as the database has it.
type stored struct {
	n       int64
	epoch   uint64
	owner   string // a process, or empty
	row     sealedrow.Run
	journal []sealedrow.Journal
}

const (
	// runBytes is the size of a run without its image, with its journal.
	runBytes = `length(header) + length(image_sum) + length(seal)
		+ (SELECT coalesce(sum(length(header) + length(seal) + length(body)), 0) FROM journal WHERE run = r.n)`
	findRun = `SELECT r.n, r.epoch, coalesce(r.owner, ''), r.ended, length(image) + ` + runBytes + `
		FROM runs r JOIN records USING (n) WHERE r.id = ? AND NOT r.gone`
	readRun     = `SELECT header, image_sum, seal, image FROM records WHERE n = ?`
	readJournal = `SELECT header, seal, body FROM journal WHERE run = ? ORDER BY n`
)

// find reads a run, or answers runstore.ErrNotFound.
func find(q querier, id string) (s stored, err error) {
	var bytes int64
	err = q.row(findRun, []any{id}, &s.n, &s.epoch, &s.owner, &s.row.Ended, &bytes)
	if isMissing(err) {
		return s, runstore.ErrNotFound
	}
	if err == nil {
		err = sealedrow.CheckSize(bytes, sealedrow.MaxRun)
	}
	if err == nil {
		err = q.row(readRun, []any{s.n}, &s.row.Header, &s.row.ImageSum, &s.row.Seal, &s.row.Image)
	}
	if err == nil && !s.row.Ended {
		err = q.rows(readJournal, []any{s.n}, func(scan func(...any) error) error {
			var j sealedrow.Journal
			err := scan(&j.Header, &j.Seal, &j.Body)
			s.journal = append(s.journal, j)
			return err
		})
	}
	return s, err
}

// run is find of what was committed.
func (d *runs) run(ctx context.Context, id string) (s stored, err error) {
	if !sealedrow.IDs.MatchString(id) {
		return s, runstore.ErrNotFound
	}
	err = d.read(ctx, func(q querier) (err error) {
		s, err = find(q, id)
		return err
	})
	return s, err
}

// Get implements runstore.Store.
func (d *runs) Get(ctx context.Context, id string) (*runstore.Record, error) {
	s, err := d.run(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.row.Ended {
		return nil, runstore.ErrEnded
	}
	r, err := d.seal.DecodeRecord(id, &s.row, s.journal, true)
	if err != nil {
		return nil, err
	}
	return r, sealedrow.Expired(r.Expires, time.Now())
}

// Ended implements runstore.Store.
func (d *runs) Ended(ctx context.Context, id string) (*runstore.Ended, error) {
	s, err := d.run(ctx, id)
	if err != nil {
		return nil, err
	}
	if !s.row.Ended {
		return nil, runstore.ErrNotFound
	}
	e, err := d.seal.DecodeEnded(id, &s.row)
	if err != nil {
		return nil, err
	}
	if err := sealedrow.Expired(e.Expires, time.Now()); err != nil {
		return nil, err
	}
	return e, nil
}

// What one page of a list reads.
const (
	pageRows  = 1000
	pageBytes = 16 << 20
)

// listed is a run of a page.
type listed struct {
	n     int64
	id    string
	bytes int64 // of its image
	row   sealedrow.Run
}

// List implements runstore.Store. It reads no images, and each run as it is when its page is
// read.
func (d *runs) List(ctx context.Context) (out []*runstore.Record, err error) {
	now := time.Now()
	for after, more := int64(0), true; more; {
		err := d.read(ctx, func(q querier) error {
			page, full, err := listPage(q, after)
			more = full
			for _, l := range page {
				after = l.n
				r, decodeErr := decodeListed(d.seal, q, l)
				switch {
				case decodeErr == nil && now.Before(r.Expires):
					out = append(out, r)
				case decodeErr != nil && !errors.Is(decodeErr, runstore.ErrCorrupt) && !errors.Is(decodeErr, runstore.ErrFormat):
					return decodeErr
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// listPage returns the runs that come next, and whether there may be more.
func listPage(q querier, after int64) (page []listed, more bool, err error) {
	size := 0
	full := errors.New("the page is full")
	err = q.rows(`SELECT r.n, r.id, length(image), header, image_sum, seal FROM runs r JOIN records USING (n)
		WHERE r.n > ? AND NOT r.ended AND NOT r.gone AND length(header) <= ? ORDER BY r.n LIMIT ?`, []any{after, int64(sealedrow.MaxField), pageRows},
		func(scan func(...any) error) error {
			var l listed
			if err := scan(&l.n, &l.id, &l.bytes, &l.row.Header, &l.row.ImageSum, &l.row.Seal); err != nil {
				return err
			}
			page = append(page, l)
			if size += len(l.row.Header); size >= pageBytes {
				return full
			}
			return nil
		})
	if errors.Is(err, full) {
		return page, true, nil
	}
	return page, len(page) == pageRows, err
}

// decodeListed returns the record of a run of a page, without its image.
func decodeListed(seal sealedrow.Sealer, q querier, l listed) (*runstore.Record, error) {
	var journal []sealedrow.Journal
	err := q.rows(readJournal, []any{l.n}, func(scan func(...any) error) error {
		var j sealedrow.Journal
		err := scan(&j.Header, &j.Seal, &j.Body)
		journal = append(journal, j)
		return err
	})
	if err != nil {
		return nil, err
	}
	r, err := seal.DecodeRecord(l.id, &l.row, journal, false)
	if err == nil {
		r.ImageBytes = int(l.bytes)
	}
	return r, err
}

// Items implements runstore.Inventory.
func (d *runs) Items(ctx context.Context) (items []runstore.Item, err error) {
	err = d.read(ctx, func(q querier) error {
		return q.rows(`
			SELECT id, CASE WHEN ended THEN 'result' ELSE 'run' END, expires, length(image) + `+runBytes+`
			FROM runs r JOIN records USING (n) WHERE NOT gone
			UNION ALL
			SELECT run, 'effects', expires, length(header) + length(seal) + (SELECT coalesce(sum(length(header) + length(seal)), 0) FROM effect_log WHERE run = e.n)
			FROM effects e
			ORDER BY 1, 2`, nil, func(scan func(...any) error) error {
			var i runstore.Item
			var expires int64
			err := scan(&i.ID, &i.Kind, &expires, &i.Bytes)
			i.Expires = time.UnixMicro(expires)
			items = append(items, i)
			return err
		})
	})
	// Kinds are in the order of their names: effects, result, run.
	return slices.Clip(items), err
}
