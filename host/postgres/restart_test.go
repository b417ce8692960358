package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestPostgresRestarts: a database that crashes and comes back costs no run, no claim and
// no hint for longer than it is away.
func TestPostgresRestarts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := postgrestest.Start(t, postgrestest.Options{})
	url := s.Database(t)
	if _, _, err := postgres.Migrate(ctx, url); err != nil {
		t.Fatal(err)
	}
	a, b := open(t, url, slow), open(t, url, slow)
	r := record("run")
	c := create(t, a, r)
	if err := s.Stop(postgrestest.Immediate); err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() { started <- s.Start() }()
	if err := c.PutCalls(ctx, 1, settled(1, `1`)); err != nil {
		t.Errorf("a write while the database restarts: %v", err)
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(ctx, "run"); !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("a claim that was lost: %v", err)
	}
	if err := c.PutCalls(ctx, 1, settled(2, `2`)); err != nil {
		t.Error(err)
	}
	got, err := b.Get(ctx, "run")
	if err != nil || string(got.Calls[0].Answer) != `1` || string(got.Calls[1].Answer) != `2` {
		t.Errorf("read %+v, %v", got, err)
	}
}

// TestPostgresHints: a run that is woken on one host is due, and another host hears of it.
func TestPostgresHints(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	c := create(t, a, record("run"))
	heard := b.Watch(ctx)
	// The hint may come before b listens: then it is sent again, as hints may be.
	for ok := false; !ok; {
		if err := a.Wake(ctx, "run"); err != nil {
			t.Fatal(err)
		}
		select {
		case id := <-heard:
			if ok = id == "run"; !ok {
				t.Fatalf("heard of %q", id)
			}
		case <-ctx.Done():
			t.Fatal("no hint")
		case <-time.After(50 * time.Millisecond):
		}
	}
	due := func(want ...string) {
		t.Helper()
		got, err := b.Due(ctx, 10)
		if err != nil || len(got) != len(want) || len(got) == 1 && got[0] != want[0] {
			t.Errorf("due are %q, %v; want %q", got, err, want)
		}
	}
	due() // it is claimed
	c.Release()
	due("run") // it was woken while it was claimed
	next, err := b.Claim(ctx, "run")
	if err != nil {
		t.Fatal(err)
	}
	due()
	pause(t, b)
	if got, err := a.Due(ctx, 10); err != nil || len(got) != 1 {
		t.Errorf("a run whose owner has died before it wrote anything is not due: %q, %v", got, err)
	}
	next.Release()
	due()
	if err := a.Wake(ctx, "unknown"); err != nil {
		t.Error(err)
	}
}
