package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// lockTable has nothing use a table until unlock is called. waited waits until a host wants it.
func lockTable(t *testing.T, url, table string) (waited, unlock func()) {
	t.Helper()
	ctx := t.Context()
	other, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close(context.Background()) })
	exec := func(sql string) {
		t.Helper()
		if _, err := other.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`BEGIN`)
	exec(`LOCK TABLE ` + table + ` IN ACCESS EXCLUSIVE MODE`)
	waited = func() {
		t.Helper()
		for waits := false; !waits; {
			if err := other.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass)`, table).Scan(&waits); err != nil {
				t.Fatal(err)
			}
		}
	}
	return waited, func() { t.Helper(); exec(`ROLLBACK`) }
}

// TestPostgresASweepThatOutlastsALease: a statement sees the leases of its start. What is renewed
// while it waits belongs to a living host.
func TestPostgresASweepThatOutlastsALease(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	d := open(t, url, slow)
	other, err := pgx.Connect(ctx, url)
	must(t, err)
	defer other.Close(context.Background())
	for lived := false; !lived; { // when the statement started
		must(t, d.Exec(ctx, `TRUNCATE quoin.hosts, quoin.reserved`))
		must(t, d.Exec(ctx, `INSERT INTO quoin.reserved (run, owner) VALUES ('first', 'host_gone'), ('run', 'host_other')`))
		tx, err := other.Begin(ctx)
		must(t, err)
		_, err = tx.Exec(ctx, `SELECT FROM quoin.reserved WHERE run = 'first' FOR UPDATE`)
		must(t, err)
		must(t, d.Exec(ctx, `INSERT INTO quoin.hosts (id, address, lease_until) VALUES ('host_other', '', clock_timestamp() + interval '1 second')`))
		done := make(chan error, 1)
		go func() { _, err := d.Sweep(ctx, time.Now()); done <- err }()
		waitsForALock(t, other)
		must(t, tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM pg_stat_activity s, quoin.hosts h
			WHERE s.datname = current_database() AND s.wait_event_type = 'Lock' AND s.query_start < h.lease_until)`).Scan(&lived))
		for over := false; !over; {
			must(t, tx.QueryRow(ctx, `SELECT clock_timestamp() > lease_until FROM quoin.hosts`).Scan(&over))
		}
		must(t, tx.Commit(ctx))
		must(t, <-done)
	}
	var left []string
	must(t, d.QueryRow(ctx, `SELECT array_agg(run) FROM quoin.reserved`).Scan(&left))
	if !slices.Equal(left, []string{"run"}) {
		t.Errorf("%q are reserved, want the run of the living host", left)
	}
}

// TestPostgresALeaseThatIsWaitedFor keeps no caller longer than the caller wants to wait.
func TestPostgresALeaseThatIsWaitedFor(t *testing.T) {
	t.Parallel()
	url := database(t)
	for name, call := range map[string]struct {
		started bool
		do      func(context.Context, *postgres.DB) error
	}{
		"the first lease": {false, func(ctx context.Context, d *postgres.DB) error {
			_, err := d.Claim(ctx, "none")
			if errors.Is(err, runstore.ErrNotFound) {
				return nil
			}
			return err
		}},
		"a renewal": {true, func(ctx context.Context, d *postgres.DB) error { return d.Advertise(ctx, "host:1") }},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, url, slow)
			if call.started {
				create(t, d, record("run")).Release()
			}
			waited, unlock := lockTable(t, url, "quoin.hosts")
			first := make(chan error, 1)
			go func() { first <- call.do(t.Context(), d) }()
			waited()
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if err := call.do(gone, d); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that is gone: %v, want context.Canceled", err)
			}
			if len(first) > 0 {
				t.Error("it has waited for the database all the same")
			}
			unlock()
			if err := <-first; err != nil {
				t.Errorf("the caller that has waited: %v", err)
			}
		})
	}
}

// TestPostgresALockedRunEndsNoLease: while a run that is to be released cannot be, the lease
// is renewed.
func TestPostgresALockedRunEndsNoLease(t *testing.T) {
	t.Parallel()
	ctx, plain := t.Context(), database(t)
	parsed, err := url.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	query := parsed.Query()
	query.Set("statement_timeout", "0")
	parsed.RawQuery = query.Encode()
	o, faults := postgres.Faulty(postgres.Options{Lease: 300 * time.Millisecond})
	d := open(t, parsed.String(), o)
	create(t, d, record("other")).Release() // which starts the lease
	end := faults.Set(1, postgres.ErrInjected)
	if _, err := d.Create(ctx, record("run"), 0); !errors.Is(err, postgres.ErrInjected) { // this host may have it
		t.Fatal(err)
	}
	end()
	waited, unlock := lockTable(t, plain, "quoin.runs")
	defer unlock()
	waited()
	var first, now time.Time
	for renewals := 0; renewals < 3; {
		if err := d.QueryRow(ctx, `SELECT lease_until FROM quoin.hosts`).Scan(&now); err != nil {
			t.Fatal(err)
		}
		if !now.Equal(first) {
			first, renewals = now, renewals+1
		}
	}
}
