package main

import (
	"testing"

	"github.com/quoinhq/quoin/host/sqlite"
)

// openState opens a state that ends with the test.
func openState(t *testing.T, dir string) *sqlite.DB {
	t.Helper()
	d, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
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
