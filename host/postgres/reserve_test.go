package postgres_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// reserved returns the runs that are reserved in the database.
func reserved(t *testing.T, d *postgres.DB) (runs []string) {
	t.Helper()
	must(t, d.QueryRow(t.Context(), `SELECT coalesce(array_agg(run ORDER BY run), '{}') FROM quoin.reserved`).Scan(&runs))
	return runs
}

// TestPostgresReservationsOutlastAGap of the lease, in which another host has swept them away.
func TestPostgresReservationsOutlastAGap(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	release, err := a.Reserve(ctx, "kept")
	must(t, err)
	over, err := a.Reserve(ctx, "over")
	must(t, err)
	over()
	a.Lapse()
	pause(t, a)
	_, err = b.Sweep(ctx, time.Now())
	must(t, err)
	if got := reserved(t, a); len(got) != 0 {
		t.Fatalf("%q are reserved after the sweep", got)
	}
	must(t, a.Advertise(ctx, "host:1")) // renews the lease
	a.ReleaseForgotten(ctx)
	if got := reserved(t, a); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("%q are reserved, want what the host holds", got)
	}
	if _, err := b.Reserve(ctx, "kept"); !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("another host reserves it: %v", err)
	}
	release()
	if got := reserved(t, a); len(got) != 0 {
		t.Errorf("%q are reserved after the release", got)
	}
}

// TestPostgresAReservationThatIsNotReleased is released later, so that others can have the run.
func TestPostgresAReservationThatIsNotReleased(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	fails, made := false, true
	o := postgres.Attempting(slow, func(ctx context.Context, do func(context.Context) error) error {
		if !fails {
			return do(ctx)
		}
		if made {
			must(t, do(ctx))
		}
		return postgres.ErrInjected
	})
	a, b := open(t, url, o), open(t, url, slow)
	create(t, a, record("other")).Release() // which starts the lease
	for what, leave := range map[string]func(){
		"a release that fails": func() {
			release, err := a.Reserve(ctx, "run")
			must(t, err)
			fails, made = true, false
			release()
		},
		"a reservation whose answer is lost": func() {
			fails, made = true, true
			if _, err := a.Reserve(ctx, "run"); !errors.Is(err, postgres.ErrInjected) {
				t.Errorf("got %v", err)
			}
		},
	} {
		leave()
		fails = false
		if got := reserved(t, a); len(got) != 1 {
			t.Fatalf("%s: %q are reserved", what, got)
		}
		a.ReleaseForgotten(ctx)
		release, err := b.Reserve(ctx, "run")
		if err != nil {
			t.Fatalf("%s: another host reserves it later: %v", what, err)
		}
		release()
	}
}
