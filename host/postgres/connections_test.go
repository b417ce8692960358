package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/postgres"
)

// heard gives a hint until it is heard: a host that does not listen yet misses it.
func heard(t *testing.T, d *postgres.DB, hints <-chan string, what string) {
	t.Helper()
	d.Hint("test", what)
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case got := <-hints:
			if got == what {
				return
			}
		case <-every.C:
			d.Hint("test", what)
		case <-t.Context().Done():
			t.Fatal("no hint")
		}
	}
}

// TestPostgresConnectionsOfAHost: under load it has as many as it may, with those for its lease and
// for hints.
func TestPostgresConnectionsOfAHost(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, tc := range map[string]struct {
		conns int32
		url   string
		want  int
	}{
		"by default":        {0, "", postgres.DefaultMaxConns + 2},
		"of the URL":        {0, "3", 5},
		"of the options":    {2, "", 4},
		"of the options, 2": {4, "3", 6},
	} {
		t.Run(name, func(t *testing.T) {
			plain := database(t)
			url := plain
			if tc.url != "" {
				url = with(t, plain, "pool_max_conns", tc.url)
			}
			d := open(t, url, postgres.Options{Lease: time.Hour, MaxConns: tc.conns})
			create(t, d, record("run")).Release() // which starts the lease
			heard(t, d, d.WatchHints(ctx, "test"), "now")
			other, err := pgx.Connect(ctx, with(t, plain, "application_name", "test"))
			must(t, err)
			defer other.Close(ctx)
			_, unlock := lockTable(t, with(t, plain, "application_name", "test"), "quoin.runs")
			var load sync.WaitGroup
			for range 4 * tc.want {
				load.Go(func() {
					if _, err := d.Get(ctx, "run"); err != nil {
						t.Error(err)
					}
				})
			}
			count := func(condition string) (n int) {
				must(t, other.QueryRow(ctx, `
					SELECT count(*) FROM pg_stat_activity
					WHERE datname = current_database() AND application_name = 'quoin' AND `+condition).Scan(&n))
				return n
			}
			for count(`wait_event_type = 'Lock'`) < tc.want-2 && !t.Failed() { // all that the pool has
			}
			unlock()
			load.Wait()
			if got := count(`true`); got != tc.want {
				t.Errorf("%d connections, want %d", got, tc.want)
			}
		})
	}
}
