package postgres_test

import (
	"io"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
)

// TestPostgresConformance runs the tests of every store.
func TestPostgresConformance(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	faults := map[runstore.Store]*postgres.Faults{}
	runstoretest.Run(t, runstoretest.Driver{
		Open: func(t testing.TB, n int) []runstore.Store {
			url := database(t)
			var hosts []runstore.Store
			for range n {
				o, f := postgres.Faulty(postgres.Keeping(slow, runstore.MaxEnded))
				d := open(t, url, o)
				hosts = append(hosts, d)
				mu.Lock()
				faults[d] = f
				mu.Unlock()
			}
			return hosts
		},
		Expire: func(t testing.TB, host runstore.Store) { pause(t, host.(*postgres.DB)) },
		Fail: func(t testing.TB, host runstore.Store, n int, when runstoretest.Moment) func() bool {
			mu.Lock()
			defer mu.Unlock()
			return faults[host].Set(n, map[runstoretest.Moment]error{
				runstoretest.After: postgres.ErrInjected, runstoretest.Cut: io.ErrUnexpectedEOF,
			}[when])
		},
	})
}
