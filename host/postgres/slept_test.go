package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// TestPostgresTimesAfterASleep: what a host writes before it has renewed its lease expires
// when it should, although its monotonic clock has missed the night.
func TestPostgresTimesAfterASleep(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), slow)
	create(t, d, record("before")).Release()
	writes := map[string]func(r *runstore.Record, c runstore.Claim) error{
		"Create":     nil,
		"Checkpoint": func(r *runstore.Record, c runstore.Claim) error { return c.Checkpoint(ctx, r) },
		"End": func(r *runstore.Record, c runstore.Claim) error {
			return c.End(ctx, &runstore.Ended{ID: r.ID, Expires: r.Expires, Result: []byte(`1`)})
		},
	}
	for name, write := range writes {
		for try := 0; ; try++ {
			r := record(fmt.Sprintf("%s_%d", name, try))
			var c runstore.Claim
			if write != nil {
				c = create(t, d, r)
			}
			d.Slept(8 * time.Hour)
			start := time.Now()
			if write == nil {
				create(t, d, r)
			} else {
				must(t, write(r, c))
			}
			if time.Since(start) >= time.Second { // an answer that takes as long says nothing of the clock
				continue
			}
			var stored time.Time
			must(t, d.QueryRow(ctx, `SELECT expires FROM quoin.runs WHERE id = $1`, r.ID).Scan(&stored))
			if !stored.Equal(r.Expires) {
				t.Errorf("%s: it expires %s late", name, stored.Sub(r.Expires))
			}
			break
		}
	}
}
