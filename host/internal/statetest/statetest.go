// Package statetest opens states for tests.
package statetest

import (
	"context"
	"testing"

	"github.com/quoinhq/quoin/host/sqlite"
)

// Open opens the state in a directory, as every process does for itself. It is closed at the end
// of the test.
func Open(t testing.TB, dir string) *sqlite.DB {
	t.Helper()
	d, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
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
