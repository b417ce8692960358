package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// TestHealthOfOneFailure: a database is gone when it has failed twice, or hangs for longer
// than the lease. A host that stood still, or met a closed connection, does not say so.
func TestHealthOfOneFailure(t *testing.T) {
	t.Parallel()
	d := newDB(Options{Lease: 5 * time.Second})
	renew := func(err error) func() {
		return func() { _ = d.health.observe(context.Background(), func() error { return err }) }
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	given := func() { _ = d.health.observe(gone, func() error { return gone.Err() }) }
	lease := func(ends time.Time) func() { return func() { d.lease.until.Store(&ends) } }
	for _, step := range []struct {
		what string
		do   func()
		want runstore.HealthState
	}{
		{"a renewal", renew(nil), runstore.HealthOK},
		{"one that fails", renew(errors.New("closed")), runstore.HealthSlow},
		{"one whose caller has gone", given, runstore.HealthSlow},
		{"another one that fails", renew(errors.New("refused")), runstore.HealthGone},
		{"one that works", renew(nil), runstore.HealthOK},
		{"a lease that is over", lease(time.Now().Add(-time.Minute)), runstore.HealthSlow},
		{"and a renewal that hangs", func() { d.health.since = time.Now().Add(-time.Second) }, runstore.HealthGone},
		{"which hangs before the lease is over", lease(time.Now().Add(time.Minute)), runstore.HealthSlow},
	} {
		step.do()
		var trip time.Duration
		if !d.health.since.IsZero() {
			trip = time.Since(d.health.since)
		}
		if got := d.stateLocked(trip); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
	}
}
