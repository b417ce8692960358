package postgres_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// newerTables are what a migration of a newer version may leave: columns that hosts of this
// version do not know, in the tables of hosts and runs.
const newerTables = `
	ALTER TABLE quoin.hosts ADD COLUMN newer text;
	ALTER TABLE quoin.runs ADD COLUMN newer text NOT NULL DEFAULT 'newer';
	ALTER TABLE quoin.journal ADD COLUMN newer bigint NOT NULL DEFAULT 1;
	CREATE TABLE quoin.newer (id text PRIMARY KEY);
	INSERT INTO quoin.migrations (version_id, is_applied) VALUES (9999, true)`

// TestPostgresOldHostGoesOnWithNewerTables: a host that runs while a newer version migrates
// the database continues runs of before and of after, by statements that it has prepared
// before. An old host that starts is refused.
func TestPostgresOldHostGoesOnWithNewerTables(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	d := open(t, url, postgres.Options{})
	goesOn(t, d, "ended", create(t, d, record("ended")))
	before := create(t, d, record("before"))
	if err := d.Exec(ctx, newerTables); err != nil {
		t.Fatal(err)
	}
	goesOn(t, d, "before", before)
	goesOn(t, d, "after", create(t, d, record("after")))
	late, err := postgres.Open(ctx, url, postgres.Options{Key: key(t, "the key")})
	if err == nil {
		err = late.Close()
	}
	if !errors.Is(err, postgres.ErrNewer) {
		t.Errorf("an old host that starts: %v", err)
	}
}

// goesOn takes a run that was created to its end, with another claim on the way.
func goesOn(t *testing.T, d *postgres.DB, id string, c runstore.Claim) {
	t.Helper()
	ctx := t.Context()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %s: %v", id, what, err)
		}
	}
	r := record(id)
	r.Generation, r.Image = 2, []byte("image 2 of "+id)
	must("Checkpoint", c.Checkpoint(ctx, r))
	must("PutCalls", c.PutCalls(ctx, 2, settled(1, `1`)))
	c.Release()
	c, err := d.Claim(ctx, id)
	must("Claim", err)
	r.Calls[0].State, r.Calls[0].OK, r.Calls[0].Answer = runstore.CallSettled, true, json.RawMessage(`1`)
	holds(t, d, r)
	must("End", c.End(ctx, &runstore.Ended{ID: id, Expires: r.Expires, Result: []byte(`1`)}))
	must("Delete", c.Delete(ctx))
	c.Release()
	if _, err := d.Get(ctx, id); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("%s: after Delete: %v", id, err)
	}
}
