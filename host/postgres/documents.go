package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/internal/documents"
)

// maxDocuments bounds how many names one list reads.
const maxDocuments = 50_000

// documentStore keeps the documents of one purpose.
type documentStore struct {
	db        *conn
	hints     *hints
	purpose   string
	maxBytes  int
	transient bool
	told      string // other hosts are told of changes of documents with this extension; a hint costs each of them something

	watchers documents.Watchers
	watching sync.Once
	mu       sync.Mutex
	polled   map[string]string // the extensions that are watched, and how far each was seen
}

var (
	_ documents.Store = (*documentStore)(nil)
	_ documents.Clock = (*documentStore)(nil)
)

// documents returns the store of a purpose.
func (d *DB) documents(purpose string, o documents.DirOptions) *documentStore {
	return &documentStore{db: d.conn, hints: d.hints, purpose: purpose, maxBytes: cmp.Or(o.MaxBytes, documents.DefaultMaxBytes), transient: o.Transient,
		polled: map[string]string{}}
}

// Location implements documents.Store.
func (s *documentStore) Location(name string) string {
	return fmt.Sprintf("%.200q of %s in the database", name, s.purpose)
}

// missing is the error of a document that is not there.
func missing(name string) error { return fmt.Errorf("document %.80q: %w", name, fs.ErrNotExist) }

// do makes a statement that is harmless twice.
func (s *documentStore) do(ctx context.Context, do func(context.Context) error) error {
	err := s.db.retry(ctx, do)
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, documents.ErrLockLost) {
		return fmt.Errorf("database: %s: %w", s.purpose, err)
	}
	return err
}

// Create implements documents.Store.
func (s *documentStore) Create(ctx context.Context, name string, content []byte, expires time.Time) error {
	return s.write(ctx, `DO NOTHING`, name, content, expires)
}

// Replace implements documents.Store.
func (s *documentStore) Replace(ctx context.Context, name string, content []byte, expires time.Time) error {
	const update = `DO UPDATE SET content = excluded.content, expires = excluded.expires, attempt = excluded.attempt, written = excluded.written`
	return s.write(ctx, update, name, content, expires)
}

// write writes a document, if the locks of ctx are held. taken says what to do if the name
// is taken. An attempt that is made again, because the answer to the first was lost, finds
// its own document.
func (s *documentStore) write(ctx context.Context, taken, name string, content []byte, expires time.Time) error {
	sql := `
		WITH ` + stillHeld + `, made AS (
			INSERT INTO quoin.documents (purpose, name, ext, content, expires, attempt)
			SELECT $1, $4, $5, $6, $7, $8 FROM mine WHERE locks
			ON CONFLICT (purpose, name) ` + taken + ` RETURNING attempt
		), now AS (
			SELECT attempt FROM made UNION ALL SELECT attempt FROM quoin.documents WHERE purpose = $1 AND name = $4 LIMIT 1
		)
		SELECT coalesce((SELECT attempt FROM now), ''), locks FROM mine`
	if err := documents.CheckName(name); err != nil {
		return err
	}
	if len(content) > s.maxBytes {
		return documents.TooLarge(s.Location(name), len(content), s.maxBytes)
	}
	if content == nil {
		content = []byte{}
	}
	var until *time.Time
	if !expires.IsZero() {
		until = &expires
	}
	ext, attempt := path.Ext(name), rand.Text()
	locks, holders := s.heldLocks(ctx)
	err := s.do(ctx, func(ctx context.Context) error {
		var batch pgx.Batch
		if s.transient { // it may be lost with the database
			batch.Queue(`SELECT set_config('synchronous_commit', 'off', true)`)
		}
		var of string
		var held bool
		batch.Queue(sql, s.purpose, locks, holders, name, ext, content, until, attempt).QueryRow(func(row pgx.Row) error { return row.Scan(&of, &held) })
		err := s.db.pool.SendBatch(ctx, &batch).Close()
		switch {
		case err != nil || of == attempt:
			return err
		case !held:
			return s.lockLost(name)
		}
		return fmt.Errorf("document %.80q: %w", name, fs.ErrExist)
	})
	if err == nil {
		s.changed(ext)
	}
	return err
}

func (s *documentStore) lockLost(name string) error {
	return fmt.Errorf("%s: %w", s.Location(name), documents.ErrLockLost)
}

// Read implements documents.Store.
func (s *documentStore) Read(ctx context.Context, name string) (content []byte, err error) {
	if documents.CheckName(name) != nil {
		return nil, missing(name)
	}
	err = s.do(ctx, func(ctx context.Context) error {
		err := s.db.pool.QueryRow(ctx, `
			SELECT CASE WHEN octet_length(content) <= $3 THEN content END FROM quoin.documents WHERE purpose = $1 AND name = $2`,
			s.purpose, name, s.maxBytes).Scan(&content)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing(name)
		}
		return err
	})
	if err == nil && content == nil {
		return nil, s.tooLarge(name)
	}
	return content, err
}

func (s *documentStore) tooLarge(name string) error {
	return fmt.Errorf("%w: %s has more than %d bytes", documents.ErrCorrupt, s.Location(name), s.maxBytes)
}

// All implements documents.Store.
func (s *documentStore) All(ctx context.Context, ext string) (docs []documents.Document, err error) {
	var tally documents.Tally
	for after, more := "", true; more; {
		var page []documents.Document
		if page, more, err = s.page(ctx, ext, after); err != nil {
			return nil, err
		}
		for _, d := range page {
			if err := tally.Add(s.Location("*"+ext), d, s.maxBytes); err != nil {
				return nil, err
			}
			after = d.Name
		}
		docs = append(docs, s.named(page, ext)...)
	}
	return docs, nil
}

// page returns some of the documents with an extension, in the order of their names.
func (s *documentStore) page(ctx context.Context, ext, after string) (page []documents.Document, more bool, err error) {
	bytes := 0
	err = s.do(ctx, func(ctx context.Context) error {
		rows, err := s.db.pool.Query(ctx, `
			SELECT name, CASE WHEN bytes <= $4 THEN content END, bytes, expires FROM (
				SELECT name, content, expires, octet_length(content) AS bytes, sum(octet_length(content)) OVER (ORDER BY name) AS total FROM (
					SELECT name, content, expires FROM quoin.documents WHERE purpose = $1 AND ext = $2 AND name > $3 ORDER BY name LIMIT $5
				) found
			) sized WHERE total - bytes < $6 ORDER BY name`, s.purpose, ext, after, s.maxBytes, pageRows, pageBytes)
		if err != nil {
			return err
		}
		bytes = 0
		page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d documents.Document, err error) {
			var n int
			var expires *time.Time
			if err = row.Scan(&d.Name, &d.Content, &n, &expires); err == nil && d.Content == nil {
				d.Err = s.tooLarge(d.Name)
			}
			if expires != nil {
				d.Expires = *expires
			}
			bytes += n
			return d, err
		})
		return err
	})
	return page, isFull(len(page), bytes), err
}

// named leaves out what has no name of a document with that extension.
func (s *documentStore) named(docs []documents.Document, ext string) []documents.Document {
	kept := docs[:0]
	for _, d := range docs {
		if documents.CheckName(d.Name) == nil && path.Ext(d.Name) == ext {
			kept = append(kept, d)
		}
	}
	return kept
}

// Names implements documents.Store.
func (s *documentStore) Names(ctx context.Context, ext string, due time.Time) (names []string, err error) {
	var by *time.Time
	if !due.IsZero() {
		by = &due
	}
	var docs []documents.Document
	err = s.do(ctx, func(ctx context.Context) error {
		rows, err := s.db.pool.Query(ctx, `
			SELECT name FROM quoin.documents WHERE purpose = $1 AND ext = $2 AND ($3::timestamptz IS NULL OR expires <= least($3, statement_timestamp())) LIMIT $4`,
			s.purpose, ext, by, maxDocuments)
		if err != nil {
			return err
		}
		docs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d documents.Document, err error) {
			return d, row.Scan(&d.Name)
		})
		return err
	})
	for _, d := range s.named(docs, ext) {
		names = append(names, d.Name)
	}
	return names, err
}

// Counts implements documents.Store.
func (s *documentStore) Counts(ctx context.Context) (counts map[string]int, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		rows, err := s.db.pool.Query(ctx, `SELECT ext, count(*) FROM quoin.documents WHERE purpose = $1 GROUP BY ext LIMIT 100`, s.purpose)
		if err != nil {
			return err
		}
		counts = map[string]int{}
		var ext string
		var n int
		_, err = pgx.ForEachRow(rows, []any{&ext, &n}, func() error { counts[ext] = n; return nil })
		return err
	})
	return counts, err
}

// Remove implements documents.Store.
func (s *documentStore) Remove(ctx context.Context, names ...string) error {
	locks, holders := s.heldLocks(ctx)
	attempts := 0
	return s.do(ctx, func(ctx context.Context) error {
		attempts++
		var removed int
		var held bool
		err := s.db.pool.QueryRow(ctx, `
			WITH `+stillHeld+`, gone AS (
				DELETE FROM quoin.documents USING mine WHERE locks AND purpose = $1 AND name = ANY($4) RETURNING name
			)
			SELECT (SELECT count(*) FROM gone), locks FROM mine`, s.purpose, locks, holders, valid(names)).Scan(&removed, &held)
		switch {
		case err != nil:
			return err
		case !held:
			return s.lockLost(strings.Join(names, ", "))
		case removed == 0 && attempts == 1: // else the attempt before, with its answer lost, may have removed them
			return fmt.Errorf("documents %.80q: %w", names, fs.ErrNotExist)
		}
		return nil
	})
}

// valid leaves out what is no name: PostgreSQL refuses some texts.
func valid(names []string) (out []string) {
	for _, name := range names {
		if documents.CheckName(name) == nil {
			out = append(out, name)
		}
	}
	return out
}

// Sweep implements documents.Store.
func (s *documentStore) Sweep(ctx context.Context, now time.Time, keep int) error {
	if !s.transient {
		return nil
	}
	return s.do(ctx, func(ctx context.Context) error {
		_, err := s.db.pool.Exec(ctx, `DELETE FROM quoin.documents WHERE purpose = $1 AND expires <= least($2, statement_timestamp())`, s.purpose, now)
		if err != nil || keep == 0 {
			return err
		}
		_, err = s.db.pool.Exec(ctx, `
			DELETE FROM quoin.documents WHERE purpose = $1 AND name IN (
				SELECT name FROM quoin.documents WHERE purpose = $1 ORDER BY expires DESC NULLS FIRST, name OFFSET $2)`, s.purpose, keep)
		return err
	})
}

// Stamp implements documents.Store.
func (s *documentStore) Stamp(ctx context.Context, name string) (stamp string, err error) {
	if documents.CheckName(name) != nil {
		return "", nil
	}
	err = s.do(ctx, func(ctx context.Context) error {
		err := s.db.pool.QueryRow(ctx, `SELECT attempt FROM quoin.documents WHERE purpose = $1 AND name = $2`, s.purpose, name).Scan(&stamp)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return stamp, err
}

// Version implements documents.Store.
func (s *documentStore) Version(ctx context.Context) (version string, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		return s.db.pool.QueryRow(ctx, `
			SELECT count(*) || ' ' || coalesce(sum(hashtextextended(name || ' ' || attempt, 0)), 0)
			FROM quoin.documents WHERE purpose = $1`, s.purpose).Scan(&version)
	})
	return version, err
}

// Earlier implements documents.Clock.
func (s *documentStore) Earlier(ctx context.Context, here time.Time) (now time.Time, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		return s.db.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	})
	if err != nil || here.Sub(now) < sameClock {
		return here, err
	}
	return now, nil
}
