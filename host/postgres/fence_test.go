package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
)

// pause ends the lease of a host, as if it had been stopped for that long. It renews its
// lease only after a third of it, which is long in these tests.
func pause(t testing.TB, d *postgres.DB) {
	t.Helper()
	if err := d.Exec(t.Context(), `UPDATE quoin.hosts SET lease_until = now() - interval '1 second' WHERE id = $1`, d.Host()); err != nil {
		t.Fatal(err)
	}
}

var slow = postgres.Options{Lease: time.Hour}

// TestPostgresAPausedHostWritesNothing: every write of a host is refused once its run was
// taken over, and leaves nothing.
func TestPostgresAPausedHostWritesNothing(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	for name, write := range map[string]func(runstore.Claim, *runstore.Record) error{
		"Checkpoint": func(c runstore.Claim, r *runstore.Record) error { return c.Checkpoint(ctx, r) },
		"PutCalls": func(c runstore.Claim, r *runstore.Record) error {
			return c.PutCalls(ctx, r.Generation, settled(1, `"stale"`))
		},
		"PutCalls to another record": func(c runstore.Claim, r *runstore.Record) error {
			return c.PutCalls(ctx, r.Generation+1, settled(1, `"stale"`))
		},
		"End": func(c runstore.Claim, r *runstore.Record) error {
			return c.End(ctx, &runstore.Ended{ID: r.ID, Expires: r.Expires, Result: []byte(`"stale"`)})
		},
		"Delete": func(c runstore.Claim, _ *runstore.Record) error { return c.Delete(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			r := record("run_" + strings.ReplaceAll(name, " ", "_"))
			stale := create(t, a, r)
			pause(t, a)
			newer, err := b.Claim(ctx, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			defer newer.Release()
			if o, err := a.Owner(ctx, r.ID); err != nil || o.Host != b.Host() || o.Epoch != 2 {
				t.Errorf("owner %+v, %v", o, err)
			}
			changed := *r
			changed.Image = []byte("stale")
			if err := write(stale, &changed); !errors.Is(err, runstore.ErrFenced) {
				t.Errorf("got %v, want ErrFenced", err)
			}
			holds(t, b, r)
			stale.Release() // frees nothing of the new owner
			if _, err := a.Claim(ctx, r.ID); !errors.Is(err, runstore.ErrClaimed) {
				t.Errorf("claim after the stale owner has let go: %v", err)
			}
			if err := newer.PutCalls(ctx, 1, settled(2, `"fresh"`)); err != nil {
				t.Errorf("write of the new owner: %v", err)
			}
		})
	}
}

// TestPostgresOneOfManyClaims: of many hosts that claim a run at once one gets it, again
// and again, and every claim has an epoch of its own.
func TestPostgresOneOfManyClaims(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	hosts := make([]*postgres.DB, 4)
	for i := range hosts {
		hosts[i] = open(t, url, slow)
	}
	create(t, hosts[0], record("run")).Release()
	for round := range 20 {
		var mu sync.Mutex
		var won []runstore.Claim
		var wg sync.WaitGroup
		for i := range 3 * len(hosts) {
			wg.Go(func() {
				c, err := hosts[i%len(hosts)].Claim(ctx, "run")
				if err != nil && !errors.Is(err, runstore.ErrClaimed) {
					t.Error(err)
				}
				if err == nil {
					mu.Lock()
					won = append(won, c)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(won) != 1 || won[0].Epoch() != uint64(round+2) {
			t.Fatalf("round %d: %d claims", round, len(won))
		}
		won[0].Release()
	}
}

// TestPostgresWritesRaceATakeover: what a claim has written before it was taken over is
// there for the next one, and nothing of it comes later.
func TestPostgresWritesRaceATakeover(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	for round := range 20 {
		r := record(fmt.Sprintf("run_%d", round))
		stale := create(t, a, r)
		wrote := make(chan int)
		go func() {
			n := 0
			for ; ; n++ {
				if err := stale.PutCalls(ctx, 1, settled(1, fmt.Sprint(n))); err != nil {
					if !errors.Is(err, runstore.ErrFenced) {
						t.Error(err)
					}
					break
				}
			}
			wrote <- n
		}()
		pause(t, a)
		c, err := b.Claim(ctx, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Get(ctx, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		n := <-wrote
		if want := fmt.Sprint(n - 1); n > 0 && string(got.Calls[0].Answer) != want {
			t.Errorf("the new owner sees the answer %s, and %d were written", got.Calls[0].Answer, n)
		}
		if err := c.PutCalls(ctx, 1, settled(2, `"new"`)); err != nil {
			t.Error(err)
		}
		c.Release()
	}
}

// TestPostgresADeadHostIsTakenOver: a lease that is not renewed ends by itself.
func TestPostgresADeadHostIsTakenOver(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, postgres.Options{Lease: 2 * time.Second}), open(t, url, slow)
	create(t, a, record("run"))
	if a.Lapsed() {
		t.Error("a fresh lease has lapsed")
	}
	cut, err := postgres.Open(ctx, url, postgres.Options{Key: key(t, "the key"), Lease: 400 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Create(ctx, record("closed"), 0); err != nil {
		t.Fatal(err)
	}
	if err := cut.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(ctx, "closed"); err != nil {
		t.Errorf("claim of a run of a host that was closed: %v", err)
	}
	if !cut.Lapsed() {
		t.Error("the lease of a closed host has not lapsed")
	}
	// a lives, and renews: its run is its own for longer than a lease.
	var first time.Time
	must(t, b.QueryRow(ctx, `SELECT lease_until FROM quoin.hosts WHERE id = $1`, a.Host()).Scan(&first))
	for over := false; !over; {
		must(t, b.QueryRow(ctx, `SELECT clock_timestamp() > $1 FROM pg_sleep(0.1)`, first).Scan(&over))
		if _, err := b.Claim(ctx, "run"); !errors.Is(err, runstore.ErrClaimed) {
			t.Fatalf("claim of a run of a live host: %v", err)
		}
	}
}

// TestPostgresTakeoversAreCounted: a claim counts as one if another host has owned the run.
func TestPostgresTakeoversAreCounted(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	for _, step := range []struct {
		what  string
		leave func(id string)
		want  uint64
	}{
		{"a free run", func(id string) { create(t, a, record(id)).Release() }, 0},
		{"a run of its own", func(id string) {
			create(t, a, record(id)).Release()
			must(t, b.Exec(ctx, `UPDATE quoin.runs SET owner = $1 WHERE id = $2`, b.Host(), id))
		}, 0},
		{"a run of a dead host", func(id string) { create(t, a, record(id)); pause(t, a) }, 1},
	} {
		id := strings.ReplaceAll(step.what, " ", "_")
		step.leave(id)
		before := b.Health(ctx).Takeovers
		c, err := b.Claim(ctx, id)
		must(t, err)
		c.Release()
		if got := b.Health(ctx).Takeovers - before; got != step.want {
			t.Errorf("the claim of %s counts as %d takeovers, want %d", step.what, got, step.want)
		}
	}
}

// TestPostgresALostReleaseIsMadeUp: a run that the database says is this host's, though
// no claim has it, is free for this host.
func TestPostgresALostReleaseIsMadeUp(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	create(t, a, record("run")).Release()
	create(t, a, record("other")).Release()
	if err := a.Exec(ctx, `UPDATE quoin.runs SET owner = $1`, a.Host()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(ctx, "run"); !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("claim by another host: %v", err)
	}
	c, err := a.Claim(ctx, "run")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Claim(ctx, "run"); !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("second claim of this host: %v", err)
	}
	c.Release()
}

// TestPostgresOneRoundTrip: what is written once a turn takes one statement.
func TestPostgresOneRoundTrip(t *testing.T) {
	t.Parallel()
	ctx, url := context.Background(), database(t)
	o, trips := postgres.Counting(postgres.Options{Lease: time.Hour, MaxConns: 1})
	d := open(t, url, o)
	ended := func(id string) *runstore.Ended {
		return &runstore.Ended{ID: id, Expires: time.Now().Add(time.Hour), Result: []byte(`{}`)}
	}
	leg := func(id string, count func(what string)) {
		c := create(t, d, record(id))
		count("Create")
		for what, do := range map[string]func() error{
			"Checkpoint": func() error { return c.Checkpoint(ctx, record(id)) },
			"PutCalls of a batch": func() error {
				return c.PutCalls(ctx, 1, append(settled(1, `1`), settled(2, `2`)...))
			},
			"Get": func() error { _, err := d.Get(ctx, id); return err },
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
			count(what)
		}
		c.Release()
		count("Release")
		c, err := d.Claim(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		count("Claim")
		if err := c.End(ctx, ended(id)); err != nil {
			t.Fatal(err)
		}
		count("End")
		if err := c.Delete(ctx); err != nil {
			t.Fatal(err)
		}
		count("Delete")
		c.Release()
	}
	leg("warm", func(string) { trips.Take() }) // which prepares the statements
	trips.Take()
	leg("run", func(what string) {
		if n := trips.Take(); n != 1 {
			t.Errorf("%s takes %d round trips, want 1", what, n)
		}
	})
}

// TestPostgresALapsedLeaseIsRenewed: after a gap in its lease a host holds a run again once
// the database says that no other host has taken it.
func TestPostgresALapsedLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	leased := func(c runstore.Claim) runstore.Leased { return c.(runstore.Leased) }
	kept, other, taken := leased(create(t, a, record("kept"))), leased(create(t, a, record("other"))), leased(create(t, a, record("taken")))
	if !kept.Held() {
		t.Error("a fresh claim is not held")
	}
	a.Lapse()
	pause(t, a)
	if kept.Held() || other.Held() || taken.Held() {
		t.Error("a claim is held without a lease")
	}
	if _, err := b.Claim(ctx, "taken"); err != nil {
		t.Fatal(err)
	}
	if err := kept.Renew(ctx); err != nil || !kept.Held() || a.Lapsed() {
		t.Errorf("renewed: %v, held %v, lapsed %v", err, kept.Held(), a.Lapsed())
	}
	if other.Held() || taken.Held() {
		t.Error("a claim from before the gap is held unasked")
	}
	if err := other.Renew(ctx); err != nil || !other.Held() {
		t.Errorf("the other claim renewed: %v, held %v", err, other.Held())
	}
	if err := taken.Renew(ctx); !errors.Is(err, runstore.ErrFenced) || taken.Held() {
		t.Errorf("a run that was taken over: %v, held %v", err, taken.Held())
	}
}

// TestPostgresAClaimIsAsOldAsItsStatement: a host stands still between the answer of the
// database and the claim, and its lease is renewed before it looks. It does not hold the run
// if another has taken it by then.
func TestPostgresAClaimIsAsOldAsItsStatement(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	b := open(t, url, slow)
	var taken runstore.Claim
	var after func()
	a := open(t, url, postgres.Attempting(slow, func(ctx context.Context, do func(context.Context) error) error {
		err := do(ctx)
		if stop := after; stop != nil {
			after = nil
			stop()
		}
		return err
	}))
	for name, begin := range map[string]func(id string) (runstore.Claim, error){
		"Create": func(id string) (runstore.Claim, error) { return a.Create(ctx, record(id), 0) },
		"Claim": func(id string) (runstore.Claim, error) {
			create(t, b, record(id)).Release()
			return a.Claim(ctx, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := "run_" + name
			create(t, a, record("before_"+name)).Release()
			after = func() {
				a.Lapse()
				pause(t, a)
				var err error
				taken, err = b.Claim(ctx, id)
				must(t, err)
				must(t, a.Advertise(ctx, "a:1")) // which renews the lease
			}
			c, err := begin(id)
			must(t, err)
			defer c.Release()
			defer taken.Release()
			leased := c.(runstore.Leased)
			if leased.Held() {
				t.Error("the run of another host is held")
			}
			if err := leased.Renew(ctx); !errors.Is(err, runstore.ErrFenced) {
				t.Errorf("renewed: %v, want ErrFenced", err)
			}
		})
	}
}

// TestPostgresAClaimOfAPausedHostRenewsItsLease: else the next host takes the run at once.
func TestPostgresAClaimOfAPausedHostRenewsItsLease(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, slow), open(t, url, slow)
	create(t, b, record("run")).Release()
	create(t, a, record("before")).Release() // which starts the lease
	pause(t, a)
	_, err := a.Claim(ctx, "run")
	must(t, err)
	if _, err := b.Claim(ctx, "run"); !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("the claim of the next host: %v, want ErrClaimed", err)
	}
}
