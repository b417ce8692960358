package sqlite_test

import (
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
)

// TestConformance runs the tests of every store.
func TestConformance(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	faults := map[runstore.Store]*sqlite.Faults{}
	runstoretest.Run(t, runstoretest.Driver{
		Open: func(t testing.TB, n int) []runstore.Store {
			dir, hosts := t.TempDir(), make([]runstore.Store, n)
			for i := range hosts {
				o, f := sqlite.Faulty(sqlite.Options{})
				d := open(t, dir, o)
				hosts[i] = d
				mu.Lock()
				faults[d] = f
				mu.Unlock()
			}
			return hosts
		},
		Fail: func(_ testing.TB, host runstore.Store, n int, when runstoretest.Moment) func() bool {
			if when == runstoretest.Cut {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			return faults[host].Set(n, when == runstoretest.After)
		},
	})
}

// open opens a state that ends with the test.
func open(t testing.TB, dir string, o sqlite.Options) *sqlite.DB {
	t.Helper()
	d, err := sqlite.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
