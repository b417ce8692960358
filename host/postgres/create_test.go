package postgres_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestPostgresALateCreateMakesNoDeletedRun: a host gives an attempt up and makes another,
// the run ends, and the first attempt arrives.
func TestPostgresALateCreateMakesNoDeletedRun(t *testing.T) {
	ctx := t.Context()
	o, network := postgres.Slow(slow)
	d := open(t, database(t), o)
	create(t, d, record("before")).Release()
	for name, end := range map[string]func(t *testing.T, c runstore.Claim){
		"ended": func(t *testing.T, c runstore.Claim) {
			must(t, c.Delete(ctx))
			c.Release()
		},
		"being_deleted": func(t *testing.T, c runstore.Claim) { must(t, c.Delete(ctx)) },
	} {
		t.Run(name, func(t *testing.T) {
			network.Keep(name, 1)
			end(t, create(t, d, record(name)))
			must(t, network.Deliver())
			if _, err := d.Get(ctx, name); !errors.Is(err, runstore.ErrNotFound) {
				t.Errorf("the run after its deletion: %v, want ErrNotFound", err)
			}
		})
	}
}

// TestPostgresALateCreateThatHasFailed: the host has told its caller so, and has renewed
// its lease since. Nothing comes of it later.
func TestPostgresALateCreateThatHasFailed(t *testing.T) {
	o, network := postgres.Slow(slow)
	given := errors.New("given up")
	d := open(t, database(t), postgres.Attempting(o, func(ctx context.Context, do func(context.Context) error) error {
		err := do(ctx)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return given // which is not tried again
		}
		return err
	}))
	create(t, d, record("before")).Release()
	network.Keep("failed", 1)
	if _, err := d.Create(t.Context(), record("failed"), 0); !errors.Is(err, given) {
		t.Fatalf("got %v", err)
	}
	must(t, d.Advertise(t.Context(), "a:1")) // which renews the lease
	must(t, network.Deliver())
	if _, err := d.Get(t.Context(), "failed"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("the run that was not created: %v, want ErrNotFound", err)
	}
}

// TestPostgresACreateIsNotMadeAgainAfterItsLease: its run was created, another host has
// taken it over and deleted it, and the answer to the first attempt was lost.
func TestPostgresACreateIsNotMadeAgainAfterItsLease(t *testing.T) {
	ctx, url := t.Context(), database(t)
	b := open(t, url, slow)
	var a *postgres.DB
	var between func()
	a = open(t, url, postgres.Attempting(slow, func(ctx context.Context, do func(context.Context) error) error {
		err := do(ctx)
		if between == nil {
			return err
		}
		between()
		between = nil
		return errors.Join(err, io.ErrUnexpectedEOF)
	}))
	create(t, a, record("before")).Release()
	between = func() {
		a.Lapse()
		pause(t, a)
		c, err := b.Claim(ctx, "run")
		must(t, err)
		must(t, c.Delete(ctx))
		c.Release()
	}
	if _, err := a.Create(ctx, record("run"), 0); !errors.Is(err, runstore.ErrUnavailable) {
		t.Errorf("Create: %v, want ErrUnavailable", err)
	}
	if _, err := b.Get(ctx, "run"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("the run after its deletion: %v, want ErrNotFound", err)
	}
}
