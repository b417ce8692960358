package runstore_test

import (
	"os"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/internal/durable"
)

// TestConformance runs the tests of every store on the stores of this package.
func TestConformance(t *testing.T) {
	for name, d := range map[string]runstoretest.Driver{
		"memory": {Open: func(_ testing.TB, n int) []runstore.Store {
			m, hosts := &runstore.Memory{}, make([]runstore.Store, n)
			for i := range hosts {
				hosts[i] = m
			}
			return hosts
		}},
		"directory": {Fail: failingSync, Open: func(t testing.TB, n int) []runstore.Store {
			path, hosts := t.TempDir(), make([]runstore.Store, n)
			for i := range hosts {
				d, err := runstore.OpenDir(path)
				if err != nil {
					t.Fatal(err)
				}
				hosts[i] = d
			}
			return hosts
		}},
	} {
		t.Run(name, func(t *testing.T) { runstoretest.Run(t, d) })
	}
}

// failingSync has the nth sync of a file or directory fail.
func failingSync(t testing.TB, _ runstore.Store, n int, when runstoretest.Moment) func() bool {
	if when == runstoretest.Cut {
		return nil
	}
	var mu sync.Mutex
	was, left := durable.Sync, n
	durable.Sync = func(f *os.File) error {
		mu.Lock()
		defer mu.Unlock()
		if left--; left != 0 {
			return was(f)
		}
		if when == runstoretest.After {
			if err := was(f); err != nil {
				t.Error(err)
			}
		}
		return os.ErrDeadlineExceeded
	}
	return func() bool {
		durable.Sync = was
		return left <= 0
	}
}
