package localdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"
)

// readers is how many snapshots may be read at the same time.
const readers = 4

// DB is one SQLite file. Its methods may be called from several goroutines.
type DB struct {
	write *sql.DB // exactly one connection
	read  *sql.DB // connections that cannot write
}

// Open opens the file at path, creating it when it does not exist, and applies
// the migrations it has not seen yet. The caller owns the result and closes it.
func Open(ctx context.Context, path string, migrations []string) (*DB, error) {
	write, err := connect(path, 1, "immediate")
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, write, migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", filepath.Base(path), err), write.Close())
	}
	read, err := connect(path, readers, "deferred", "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &DB{write: write, read: read}, nil
}

// connect opens a pool of at most conns connections.
func connect(path string, conns int, lock string, pragmas ...string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("locate the database file: %w", err)
	}
	pool, err := sql.Open("sqlite", dataSource(abs, lock, pragmas))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}

// dataSource writes the file's name as a URI, so that "?", "%" and "#" in a
// directory's name are not taken for something else.
func dataSource(abs, lock string, pragmas []string) string {
	path := filepath.ToSlash(abs)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/data becomes /C:/data
	}
	query := url.Values{"_txlock": {lock}}
	query["_pragma"] = append([]string{
		"busy_timeout(5000)",
		"journal_mode(WAL)",
		"synchronous(NORMAL)",
		"foreign_keys(1)",
	}, pragmas...)
	return (&url.URL{Scheme: "file", Path: path, OmitHost: true, RawQuery: query.Encode()}).String()
}

// Read runs f on one consistent snapshot of the file. The transaction cannot
// write.
func (db *DB) Read(ctx context.Context, f func(tx *sql.Tx) error) error {
	return within(ctx, db.read, f)
}

// Write runs f in a transaction that holds the file's write lock from its
// first statement, and commits it when f returns nil. The context covers the
// wait for the lock too.
func (db *DB) Write(ctx context.Context, f func(tx *sql.Tx) error) error {
	return within(ctx, db.write, f)
}

func within(ctx context.Context, pool *sql.DB, f func(tx *sql.Tx) error) (err error) {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("start the transaction: %w", err)
	}
	committed := false
	defer func() {
		if !committed { // f failed or panicked
			if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
				err = errors.Join(err, fmt.Errorf("roll back: %w", undo))
			}
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// Close waits for running transactions and closes the file.
func (db *DB) Close() error {
	return errors.Join(db.read.Close(), db.write.Close())
}
