package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"github.com/quoinhq/quoin/internal/durable"
)

//go:embed migrations
var migrations embed.FS

// ErrNewer says that a newer version has migrated a file. Match with errors.Is.
var ErrNewer = errors.New("a newer version has migrated the state: run that version")

// file is a database, as one process has it open.
type file struct {
	path    string
	writer  *writer
	readers *readers

	closing sync.Once
	closed  error // by close
}

// openFile opens a database, and makes the tables of a set of migrations, or renews them.
func openFile(path, set string, o Options) (*file, error) {
	size, err := makeFile(path)
	if err != nil {
		return nil, err
	}
	pragmas := []string{"journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(4000)"}
	if size == 0 { // it writes
		pragmas = append([]string{"auto_vacuum(INCREMENTAL)"}, pragmas...)
	}
	writers := connect(path, o.times.busy, pragmas...)
	ctx := context.Background()
	conn, err := writers.Conn(ctx)
	if err == nil {
		err = migrate(ctx, path, set, conn, writers)
	}
	if err != nil {
		return nil, explained(errors.Join(err, writers.Close()))
	}
	return &file{path: path, writer: newWriter(writers, conn, o.fault), readers: newReaders(connect(path, o.times.busy, "query_only(1)"))}, nil
}

// makeFile makes a file where there is no file, and returns its size. SQLite gives its other files the
// same mode.
func makeFile(path string) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return 0, err
	}
	st, err := f.Stat()
	if err == nil {
		size = st.Size()
	}
	return size, errors.Join(err, f.Close())
}

// connect returns connections with pragmas.
func connect(path string, busy time.Duration, pragmas ...string) *sql.DB {
	q := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}, pragmas...)}
	return sql.OpenDB(connector{"file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()})
}

// connector opens connections without a driver that is registered under a name.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	return (&sqlite.Driver{}).Open(c.dsn)
}
func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

// migrate makes the tables, or renews them, for one process at a time.
func migrate(ctx context.Context, path, set string, conn *sql.Conn, db *sql.DB) (err error) {
	files, err := fs.Sub(migrations, "migrations/"+set)
	if err != nil {
		return err
	}
	want, err := newest(files)
	if err != nil {
		return err
	}
	have, err := version(ctx, conn)
	if err != nil || have == want {
		return err
	}
	if have > want {
		return fmt.Errorf("%w (the tables of %s have version %d, this version knows %d)", ErrNewer, path, have, want)
	}
	lock := durable.NewLock(filepath.Join(filepath.Dir(path), migrateLock))
	if err := lock.Lock(ctx, false); err != nil {
		return errors.Join(err, lock.Close())
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName("migrations"))
	if err == nil {
		_, err = p.Up(ctx)
	}
	return err
}

// newest is the version of the tables that this version reads and writes.
func newest(files fs.FS) (n int64, err error) {
	found, err := fs.ReadDir(files, ".")
	for _, e := range found {
		v, err := goose.NumericComponent(e.Name())
		if err != nil {
			return 0, err
		}
		n = max(n, v)
	}
	return n, err
}

// version returns the version of the tables, 0 of a new file.
func version(ctx context.Context, conn *sql.Conn) (v int64, err error) {
	var tables int
	if err := conn.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'`).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = conn.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM migrations WHERE is_applied`).Scan(&v)
	return v, err
}

// close makes the writes that wait, and closes the database. The last connection of all processes
// empties the log, which one that only reads does not do.
func (f *file) close() error {
	f.closing.Do(func() { f.closed = errors.Join(f.readers.close(), f.writer.close()) })
	return f.closed
}

// write makes a write of about that many bytes.
func (f *file) write(ctx context.Context, bytes int, do func(*tx) error) error {
	return f.writer.submit(ctx, &write{do: do, bytes: bytes})
}

// writeLazily makes a write that may be lost with the machine, and is not with the process.
func (f *file) writeLazily(ctx context.Context, bytes int, do func(*tx) error) error {
	return f.writer.submit(ctx, &write{do: do, bytes: bytes, lazy: true})
}

// minFree is how many pages that are not in use are left for later, and vacuumed how many are
// given back at a time.
const (
	minFree  = 4096
	vacuumed = 1000
)

// vacuum gives room that was freed back to the disk, if it is a quarter of the file.
func (f *file) vacuum() error {
	for more := true; more; {
		err := f.writeLazily(context.Background(), maxWriteBytes, func(t *tx) error {
			var free, pages int
			err := errors.Join(t.row(`PRAGMA freelist_count`, nil, &free), t.row(`PRAGMA page_count`, nil, &pages))
			if more = err == nil && free > max(minFree, pages/4); more {
				_, err = t.exec(fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumed))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
