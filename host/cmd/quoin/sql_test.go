package main

import (
	"database/sql"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// cmdSQL makes a statement in a database, as another program does: sql FILE STATEMENT
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	done, err := db.Exec(args[1])
	ts.Check(err)
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		ts.Fatalf("%s has changed %d rows, %v", args[1], n, err)
	}
}

// cmdSelects waits until what a query selects is true: selects FILE QUERY
func cmdSelects(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: selects FILE QUERY")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	for range time.Tick(10 * time.Millisecond) {
		var is bool
		ts.Check(db.QueryRow(args[1]).Scan(&is))
		if is {
			return
		}
	}
}
