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
	t.Parallel()
	ctx := t.Context()
	o, network := postgres.Slow(slow)
	d := open(t, database(t), o)
	create(t, d, record("before")).Release()
	for name, end := range map[string]func(t *testing.T, c runstore.Claim){
		"run_that_ended": func(t *testing.T, c runstore.Claim) {
			must(t, c.Delete(ctx))
			c.Release()
		},
		"run_being_deleted": func(t *testing.T, c runstore.Claim) { must(t, c.Delete(ctx)) },
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
	t.Parallel()
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
	network.Keep("run_that_failed", 1)
	if _, err := d.Create(t.Context(), record("run_that_failed"), 0); !errors.Is(err, given) {
		t.Fatalf("got %v", err)
	}
	must(t, d.Advertise(t.Context(), "a:1")) // which renews the lease
	must(t, network.Deliver())
	if _, err := d.Get(t.Context(), "run_that_failed"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("the run that was not created: %v, want ErrNotFound", err)
	}
}

// TestPostgresACreateThatTakesLong: the lease is renewed before the statement is there, and
// waits for it in the end.
func TestPostgresACreateThatTakesLong(t *testing.T) {
	t.Parallel()
	o, renewals := postgres.RenewedAtEachCreate(slow)
	d := open(t, database(t), o)
	create(t, d, record("before")).Release()
	renewals.Start(d)
	create(t, d, record("run"))
	if made, err := renewals.Stop(); made != 3 || err != nil {
		t.Errorf("the statement was made %d times, %v; want two that the lease has overtaken, and one that it has not", made, err)
	}
}

// TestPostgresACreateIsNotMadeAgainAfterItsLease: its run was created, another host has
// taken it over and deleted it, and the answer to the first attempt was lost.
func TestPostgresACreateIsNotMadeAgainAfterItsLease(t *testing.T) {
	t.Parallel()
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

// TestPostgresACreateThatWasRefusedIsMadeAgain: a server that takes no writes has created
// nothing, so that the gap in the lease until another one does is no matter.
func TestPostgresACreateThatWasRefusedIsMadeAgain(t *testing.T) {
	t.Parallel()
	var d *postgres.DB
	refused := false
	o := postgres.Attempting(postgres.Options{Lease: slow.Lease, MaxConns: 1}, func(ctx context.Context, do func(context.Context) error) error {
		err := do(ctx)
		if err != nil && !refused {
			refused = true
			d.Lapse()
			must(t, d.Exec(ctx, `SET default_transaction_read_only = off`))
		}
		return err
	})
	d = open(t, database(t), o)
	create(t, d, record("before")).Release()
	must(t, d.Exec(t.Context(), `SET default_transaction_read_only = on`))
	create(t, d, record("run"))
	if !refused {
		t.Error("the first attempt was not refused")
	}
}
