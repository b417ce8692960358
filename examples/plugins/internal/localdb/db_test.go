package localdb_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/examples/plugins/internal/localdb"
)

var schema = []string{"create table t (n integer not null) strict"}

func open(t *testing.T, path string, migrations []string) *localdb.DB {
	t.Helper()
	db, err := localdb.Open(t.Context(), path, migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func insert(ctx context.Context, n int) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "insert into t values (?)", n)
		return err
	}
}

func count(t *testing.T, db *localdb.DB) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "select count(*) from t").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "50% #1 dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db := open(t, filepath.Join(dir, "a.db"), schema)
	if _, err := os.Stat(filepath.Join(dir, "a.db")); err != nil {
		t.Fatal("the file is not where the path says:", err)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000"} {
		for name, run := range map[string]func(context.Context, func(*sql.Tx) error) error{"read": db.Read, "write": db.Write} {
			var got string
			err := run(t.Context(), func(tx *sql.Tx) error {
				return tx.QueryRowContext(t.Context(), "pragma "+pragma).Scan(&got)
			})
			if err != nil || got != want {
				t.Errorf("%s %s = %q, %v; want %q", name, pragma, got, err, want)
			}
		}
	}
	if err := db.Read(t.Context(), insert(t.Context(), 1)); err == nil {
		t.Error("a read transaction could write")
	}
}

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	first, err := localdb.Open(t.Context(), path, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Write(t.Context(), insert(t.Context(), 1)); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	broken := append(schema[:1:1], "create table u (n integer) strict; create table t (n integer) strict")
	if _, err := localdb.Open(t.Context(), path, broken); err == nil || !strings.Contains(err.Error(), "migration 2") {
		t.Fatalf("broken migration: %v", err)
	}
	second := append(schema[:1:1], "create table u (n integer) strict") // u must not be left over
	db := open(t, path, second)
	if got := count(t, db); got != 1 {
		t.Errorf("%d rows after migrating, want 1", got)
	}
	if _, err := localdb.Open(t.Context(), path, schema); err == nil || !strings.Contains(err.Error(), "schema version 2") {
		t.Errorf("a newer file was opened: %v", err)
	}
}

func TestWriteFailsWhole(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), schema)
	boom := errors.New("boom")
	err := db.Write(t.Context(), func(tx *sql.Tx) error {
		if err := insert(t.Context(), 1)(tx); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("error %v, want boom", err)
	}
	func() {
		defer func() { recover() }()
		_ = db.Write(t.Context(), func(tx *sql.Tx) error {
			if err := insert(t.Context(), 1)(tx); err != nil {
				return err
			}
			panic("boom")
		})
	}()
	if got := count(t, db); got != 0 {
		t.Errorf("%d rows, want none", got)
	}
}

// Two handles on one file, as two processes would have.
func TestWritersQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	handles := []*localdb.DB{open(t, path, schema), open(t, path, schema)}
	const each = 20
	var wg sync.WaitGroup
	for _, db := range append(handles, handles...) {
		wg.Go(func() {
			for range each {
				err := db.Write(t.Context(), func(tx *sql.Tx) error {
					var n int
					if err := tx.QueryRowContext(t.Context(), "select count(*) from t").Scan(&n); err != nil {
						return err
					}
					return insert(t.Context(), n)(tx)
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	var distinct int
	err := handles[0].Read(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "select count(distinct n) from t").Scan(&distinct)
	})
	if err != nil || distinct != 4*each {
		t.Errorf("%d distinct counters, %v; want %d", distinct, err, 4*each)
	}
}

func TestOnce(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), schema)
	runs := 0
	call := func(key string, fail error) (out int, err error) {
		err = db.Write(t.Context(), func(tx *sql.Tx) error {
			out, err = localdb.Once(t.Context(), tx, key, func() (int, error) {
				runs++
				return runs, fail
			})
			return err
		})
		return out, err
	}
	boom := errors.New("boom")
	for _, step := range []struct {
		key     string
		fail    error
		want    int
		wantErr error
	}{
		{"", nil, 1, nil}, {"", nil, 2, nil}, // no key, no memory
		{"a", boom, 3, boom}, {"a", nil, 4, nil}, // a failure is not remembered
		{"a", nil, 4, nil}, {"a", boom, 4, nil}, // a success is
		{"b", nil, 5, nil},
	} {
		got, err := call(step.key, step.fail)
		if got != step.want || !errors.Is(err, step.wantErr) {
			t.Errorf("Once(%q) = %d, %v; want %d, %v", step.key, got, err, step.want, step.wantErr)
		}
	}
}
