package postgres_test

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// with returns the URL of a database with one more setting.
func with(t *testing.T, database, name, value string) string {
	t.Helper()
	parsed, err := url.Parse(database)
	must(t, err)
	query := parsed.Query()
	query.Set(name, value)
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

// TestPostgresATimeLimitWithinAStatement is over while its caller still waits: the database is
// unavailable.
func TestPostgresATimeLimitWithinAStatement(t *testing.T) {
	t.Parallel()
	ctx, plain := t.Context(), database(t)
	for name, tc := range map[string]struct {
		url, locked string
		o           postgres.Options
		do          func(*postgres.DB) error
	}{
		"of the server": {with(t, plain, "statement_timeout", "500"), "quoin.runs", slow, func(d *postgres.DB) error {
			_, err := d.Get(ctx, "run")
			return err
		}},
		"of a renewal of the lease": {plain, "quoin.hosts", postgres.Options{Lease: 200 * time.Millisecond}, func(d *postgres.DB) error {
			_, err := d.Claim(ctx, "run")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, tc.url, tc.o)
			_, unlock := lockTable(t, plain, tc.locked)
			err := tc.do(d)
			unlock()
			if !errors.Is(err, runstore.ErrUnavailable) {
				t.Errorf("got %v, want ErrUnavailable", err)
			}
		})
	}
}
