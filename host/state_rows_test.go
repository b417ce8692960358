package host_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/quoinhq/quoin/host/sqlite"
)

// openRows opens a database as another program does.
func openRows(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // it has been read
	return db
}

// alterState makes a statement in the database of a state directory, which must change something.
func alterState(t testing.TB, dir, statement string) {
	t.Helper()
	done, err := openRows(t, filepath.Join(dir, sqlite.FileName)).Exec(statement)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s has changed %d rows, %v", statement, n, err)
	}
}

// breakState renames a table of a state directory, so that what uses it fails.
func breakState(t testing.TB, dir, table, as string) {
	t.Helper()
	if _, err := openRows(t, filepath.Join(dir, sqlite.FileName)).Exec(`ALTER TABLE ` + table + ` RENAME TO ` + as); err != nil {
		t.Fatal(err)
	}
}

// eachValue calls do with each value of a database.
func eachValue(t testing.TB, path string, do func(table string, value []byte)) {
	t.Helper()
	db := openRows(t, path)
	for _, table := range columnOf(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table'`) {
		for _, column := range columnOf(t, db, `SELECT name FROM pragma_table_info('`+string(table)+`')`) {
			for _, value := range columnOf(t, db, `SELECT CAST("`+string(column)+`" AS BLOB) FROM "`+string(table)+`"`) {
				do(string(table), value)
			}
		}
	}
}

func columnOf(t testing.TB, db *sql.DB, query string) (values [][]byte) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value []byte
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// copyState copies what hosts have stored in a directory, as it is now, into another one, which it
// makes.
func copyState(t testing.TB, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := openState(t, from).Backup(t.Context(), filepath.Join(to, sqlite.FileName)); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(from, sqlite.KeyFile))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, sqlite.KeyFile), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
