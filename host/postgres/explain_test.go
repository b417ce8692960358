package postgres_test

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestPostgresFailuresSayWhatToDo: an operator need not know the codes of PostgreSQL.
func TestPostgresFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := postgrestest.Start(t, postgrestest.Options{})
	url := s.Database(t)
	readOnly, sep := url, "?"
	if strings.Contains(url, "?") {
		sep = "&"
	}
	readOnly += sep + "default_transaction_read_only=on"
	for name, c := range map[string]struct{ url, want string }{
		"no server":   {"postgres://quoin@127.0.0.1:1/quoin", "start the database, or correct the host and port"},
		"no database": {s.URL("missing"), "make it with createdb, then run quoin state migrate with the --state or --config that names it"},
		"read-only":   {readOnly, "name the primary in the URL"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := postgres.Migrate(ctx, c.url)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
			if has, err := postgres.HasKey(ctx, c.url); name != "read-only" && (has || err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("HasKey: got %v, %v, want %q", has, err, c.want)
			}
		})
	}
}
