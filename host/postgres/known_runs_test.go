package postgres_test

import (
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestPostgresCountsManyRunsNowAndThen refuses a run beyond a large maximum, and does not
// count for each new run far from it.
func TestPostgresCountsManyRunsNowAndThen(t *testing.T) {
	t.Parallel()
	url := database(t)
	options, trips := postgres.Counting(postgres.Options{})
	d := open(t, url, options)
	const stored = 10_001
	if err := d.Exec(t.Context(), `
		INSERT INTO quoin.runs (id, epoch, ended, generation, expires, header, image, image_sum, seal)
		SELECT 'fill' || g, 1, false, 1, now() + interval '1 day', '\x00', '\x00', '\x00', '\x00' FROM generate_series(1, $1::int) g`, stored); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(t.Context(), record("full"), stored); !errors.Is(err, runstore.ErrFull) {
		t.Fatalf("got %v, want %v", err, runstore.ErrFull)
	}
	for _, id := range []string{"first", "second"} {
		trips.Take()
		c, err := d.Create(t.Context(), record(id), 2*stored)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
	}
	if n := trips.Take(); n != 1 {
		t.Errorf("the second run took %d round trips, want 1", n)
	}
}
