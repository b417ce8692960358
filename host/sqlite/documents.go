package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/internal/documents"
)

// documentStore keeps the documents of one purpose.
type documentStore struct {
	d         *conn
	purpose   string
	maxBytes  int
	transient bool
	locks     *documents.FileLocks
}

var _ documents.Store = (*documentStore)(nil)

// documents returns the store of a purpose.
func (d *conn) documents(of statedocs.Purpose, o documents.DirOptions) *documentStore {
	purpose := string(of)
	folder := filepath.Join(d.locks, strings.ReplaceAll(purpose, " ", "-"))
	return &documentStore{d: d, purpose: purpose, maxBytes: cmp.Or(o.MaxBytes, documents.DefaultMaxBytes), transient: o.Transient, locks: documents.NewFileLocks(folder)}
}

// Location implements documents.Store.
func (s *documentStore) Location(name string) string {
	return fmt.Sprintf("%.200q of %s in %s", name, s.purpose, filepath.Join(s.d.dir, FileName))
}

func missing(name string) error { return fmt.Errorf("document %.80q: %w", name, fs.ErrNotExist) }

// Create implements documents.Store.
func (s *documentStore) Create(ctx context.Context, name string, content []byte, expires time.Time) error {
	return s.put(ctx, name, content, expires, `DO NOTHING`)
}

// Replace implements documents.Store.
func (s *documentStore) Replace(ctx context.Context, name string, content []byte, expires time.Time) error {
	return s.put(ctx, name, content, expires, `DO UPDATE SET content = excluded.content, expires = excluded.expires, written = excluded.written`)
}

// put writes a document. taken says what to do if the name is taken.
func (s *documentStore) put(ctx context.Context, name string, content []byte, expires time.Time, taken string) error {
	if err := documents.CheckName(name); err != nil {
		return err
	}
	if len(content) > s.maxBytes {
		return documents.TooLarge(s.Location(name), len(content), s.maxBytes)
	}
	if content == nil {
		content = []byte{}
	}
	ext := path.Ext(name)
	return s.write(ctx, len(content), func(t *tx) error {
		count, err := t.count(s.purpose, ext)
		if err != nil {
			return err
		}
		n, err := t.exec(`INSERT INTO documents (purpose, name, ext, expires, written, content) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (purpose, name) `+taken,
			s.purpose, name, ext, microsOrNull(expires), count, content)
		if err == nil && n == 0 {
			err = refuse(fmt.Errorf("document %.80q: %w", name, fs.ErrExist))
		}
		return err
	})
}

// write makes a write while the locks of ctx are held.
func (s *documentStore) write(ctx context.Context, bytes int, do func(*tx) error) error {
	write := s.d.write
	if s.transient {
		write = s.d.writeLazily
	}
	err := write(ctx, bytes, func(t *tx) error {
		if err := s.locks.Check(ctx); err != nil {
			return refuse(err)
		}
		return do(t)
	})
	if err == nil {
		s.d.changes.look()
	}
	return err
}

// readContent reads documents of a purpose, the content of those that are not too large.
const readContent = `SELECT length(content) <= ?1, name, coalesce(expires, 0), CASE WHEN length(content) <= ?1 THEN content END FROM documents WHERE purpose = ?2 AND `

// Read implements documents.Store.
func (s *documentStore) Read(ctx context.Context, name string) (content []byte, err error) {
	if documents.CheckName(name) != nil {
		return nil, missing(name)
	}
	err = s.d.read(ctx, func(q querier) error {
		var fits bool
		var expires int64
		err := q.row(readContent+`name = ?3`, []any{s.maxBytes, s.purpose, name}, &fits, &name, &expires, &content)
		if err == nil && !fits {
			err = s.tooLarge(name)
		}
		return err
	})
	if isMissing(err) {
		err = missing(name)
	}
	return content, err
}

func (s *documentStore) tooLarge(name string) error {
	return fmt.Errorf("%w: %s has more than %d bytes", documents.ErrCorrupt, s.Location(name), s.maxBytes)
}

// All implements documents.Store.
func (s *documentStore) All(ctx context.Context, ext string) (docs []documents.Document, err error) {
	var tally documents.Tally
	err = s.d.read(ctx, func(q querier) error {
		return q.rows(readContent+`ext = ?3`, []any{s.maxBytes, s.purpose, ext},
			func(scan func(...any) error) error {
				var doc documents.Document
				var fits bool
				var expires int64
				if err := scan(&fits, &doc.Name, &expires, &doc.Content); err != nil {
					return err
				}
				if expires != 0 {
					doc.Expires = time.UnixMicro(expires)
				}
				if !fits {
					doc.Err = s.tooLarge(doc.Name)
				}
				if documents.CheckName(doc.Name) == nil {
					docs = append(docs, doc)
				}
				return tally.Add(s.Location("*"+ext), doc, s.maxBytes)
			})
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// Names implements documents.Store.
func (s *documentStore) Names(ctx context.Context, ext string, due time.Time) (names []string, err error) {
	text, args := `SELECT name FROM documents WHERE purpose = ? AND ext = ?`, []any{s.purpose, ext}
	if !due.IsZero() {
		text, args = text+` AND expires <= ?`, append(args, micros(due))
	}
	err = s.d.read(ctx, func(q querier) error {
		return q.rows(text, args, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			if documents.CheckName(name) == nil {
				names = append(names, name)
			}
			return err
		})
	})
	return names, err
}

// Counts implements documents.Store.
func (s *documentStore) Counts(ctx context.Context) (counts map[string]int, err error) {
	counts = map[string]int{}
	err = s.d.read(ctx, func(q querier) error {
		return q.rows(`SELECT ext, count(*) FROM documents WHERE purpose = ? GROUP BY ext`, []any{s.purpose}, func(scan func(...any) error) error {
			var ext string
			var n int
			err := scan(&ext, &n)
			counts[ext] = n
			return err
		})
	})
	return counts, err
}

// Remove implements documents.Store.
func (s *documentStore) Remove(ctx context.Context, names ...string) error {
	return s.write(ctx, 0, func(t *tx) error {
		var removed int64
		for _, name := range names {
			n, err := t.exec(`DELETE FROM documents WHERE purpose = ? AND name = ?`, s.purpose, name)
			if err == nil && n > 0 {
				_, err = t.count(s.purpose, path.Ext(name))
			}
			if err != nil {
				return err
			}
			removed += n
		}
		if removed == 0 {
			return refuse(fmt.Errorf("documents %.80q: %w", names, fs.ErrNotExist))
		}
		return nil
	})
}

// Sweep implements documents.Store.
func (s *documentStore) Sweep(ctx context.Context, now time.Time, keep int) error {
	if !s.transient {
		return nil
	}
	return s.write(ctx, 0, func(t *tx) error {
		n, err := t.exec(`DELETE FROM documents WHERE purpose = ? AND expires <= ?`, s.purpose, micros(now))
		if err == nil && keep > 0 {
			var more int64
			more, err = t.exec(`DELETE FROM documents WHERE n IN (
				SELECT n FROM documents WHERE purpose = ? ORDER BY expires DESC NULLS FIRST, name LIMIT -1 OFFSET ?)`, s.purpose, keep)
			n += more
		}
		if err == nil && n > 0 {
			_, err = t.exec(`UPDATE changes SET count = count + 1 WHERE purpose = ?`, s.purpose)
		}
		return err
	})
}

// Stamp implements documents.Store.
func (s *documentStore) Stamp(ctx context.Context, name string) (stamp string, err error) {
	err = s.d.read(ctx, func(q querier) error {
		var written int64
		err := q.row(`SELECT written FROM documents WHERE purpose = ? AND name = ?`, []any{s.purpose, name}, &written)
		if isMissing(err) {
			return nil
		}
		stamp = strconv.FormatInt(written, 10)
		return err
	})
	return stamp, err
}

// Version implements documents.Store.
func (s *documentStore) Version(ctx context.Context) (version string, err error) {
	var all []string
	err = s.d.read(ctx, func(q querier) error {
		return q.rows(`SELECT ext, count FROM changes WHERE purpose = ? ORDER BY ext`, []any{s.purpose}, func(scan func(...any) error) error {
			var ext string
			var n int64
			err := scan(&ext, &n)
			all = append(all, fmt.Sprint(ext, " ", n))
			return err
		})
	})
	return cmp.Or(strings.Join(slices.Clip(all), " "), "0"), err
}

// Lock implements documents.Store. The lock ends with the process.
func (s *documentStore) Lock(ctx context.Context, name string) (held context.Context, unlock func(), err error) {
	return s.locks.Lock(ctx, name)
}

// Watch implements documents.Store.
func (s *documentStore) Watch(ctx context.Context, ext string) <-chan struct{} {
	return s.d.changes.watch(ctx, s.d, kind{s.purpose, ext})
}
