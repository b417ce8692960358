package runstoretest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
)

func testClaimsExclude(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 3)
	put(t, hosts[0], Record("run_1", 1))
	for range 10 {
		var wg sync.WaitGroup
		claims := make(chan runstore.Claim, 15)
		for i := range cap(claims) {
			wg.Go(func() {
				c, err := hosts[i%3].Claim(ctx, "run_1")
				switch {
				case err == nil:
					claims <- c
				case !errors.Is(err, runstore.ErrClaimed):
					t.Errorf("Claim: %v, want nil or ErrClaimed", err)
				}
			})
		}
		wg.Wait()
		close(claims)
		if len(claims) != 1 {
			t.Fatalf("%d claims at once, want 1", len(claims))
		}
		c := <-claims
		c.Release()
		c.Release()
	}
	// One of several that create the same run succeeds.
	var wg sync.WaitGroup
	claims := make(chan runstore.Claim, 9)
	for i := range cap(claims) {
		wg.Go(func() {
			if c, err := hosts[i%3].Create(ctx, Record("run_2", 1), 0); err == nil {
				claims <- c
			} else if !errors.Is(err, runstore.ErrClaimed) {
				t.Errorf("Create: %v, want nil or ErrClaimed", err)
			}
		})
	}
	wg.Wait()
	close(claims)
	if len(claims) != 1 {
		t.Fatalf("%d have created the run", len(claims))
	}
	(<-claims).Release()
}

func testEpochs(t *testing.T, d Driver) {
	hosts := d.Open(t, 2)
	last := uint64(0)
	later := func(c runstore.Claim) {
		t.Helper()
		if c.Epoch() <= last {
			t.Errorf("epoch %d after %d", c.Epoch(), last)
		}
		last = c.Epoch()
		c.Release()
	}
	c := create(t, hosts[0], Record("run_1", 1))
	if c.Epoch() != 1 {
		t.Errorf("the first epoch is %d", c.Epoch())
	}
	later(c)
	for i := range 6 {
		later(claim(t, hosts[i%2], "run_1"))
	}
	// A run of another store keeps what was counted there.
	moved := Record("run_2", 1)
	moved.Epoch, last = 1_000_000_000_000, 1_000_000_000_000
	later(create(t, hosts[0], moved))
	later(claim(t, hosts[1], "run_2"))
}

// stale fails the test unless no write of a claim takes effect.
func stale(t *testing.T, what string, s runstore.Store, c runstore.Claim, id string) {
	t.Helper()
	ctx := context.Background()
	before := stateOf(s, id)
	want(t, what+": a checkpoint", c.Checkpoint(ctx, Record(id, 77)), runstore.ErrFenced)
	for _, generation := range []uint64{1, 2, 3} {
		want(t, what+": answers", c.PutCalls(ctx, generation, Settled(1, `"stale"`)), runstore.ErrFenced)
	}
	want(t, what+": a result", c.End(ctx, Ended(id, `"stale"`)), runstore.ErrFenced)
	want(t, what+": a deletion", c.Delete(ctx), runstore.ErrFenced)
	is(t, s, id, before)
}

func testReleasedClaims(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	first := create(t, hosts[0], Record("run_1", 1))
	first.Release()
	stale(t, "free", hosts[1], first, "run_1")
	second := claim(t, hosts[1], "run_1")
	stale(t, "claimed by another host", hosts[1], first, "run_1")
	must(t, second.PutCalls(ctx, 1, Settled(1, `1`)))
	first.Release()
	_, err := hosts[0].Claim(ctx, "run_1")
	want(t, "a claim after a stale holder has released", err, runstore.ErrClaimed)
	second.Release()
	third := claim(t, hosts[0], "run_1")
	stale(t, "claimed again by the first host", hosts[0], first, "run_1")
	stale(t, "claimed again by the first host", hosts[0], second, "run_1")
	must(t, third.End(ctx, Ended("run_1", `{}`)))
	third.Release()
	stale(t, "with a result", hosts[0], third, "run_1")
	last := claim(t, hosts[1], "run_1")
	must(t, last.Delete(ctx))
	last.Release()
	stale(t, "gone", hosts[0], last, "run_1")
}

func testClaimsOutliveRecords(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	c := create(t, hosts[0], Record("run_1", 1))
	must(t, c.Delete(ctx))
	c.Release()
	_, err := hosts[1].Claim(ctx, "run_1")
	want(t, "a claim of a run that is gone", err, runstore.ErrNotFound)
	create(t, hosts[1], Record("run_1", 5)).Release()
	is(t, hosts[0], "run_1", fresh(5))
}

// testTakeover ends the lease of a host: another has its runs, and it writes nothing more.
func testTakeover(t *testing.T, d Driver) {
	if d.Expire == nil {
		t.Skip("the claims of this store end with their process alone")
	}
	ctx := context.Background()
	hosts := d.Open(t, 3)
	c := create(t, hosts[0], Record("run_1", 1))
	must(t, c.PutCalls(ctx, 1, Settled(1, `1`)))
	_, err := hosts[1].Claim(ctx, "run_1")
	want(t, "a claim while the lease goes on", err, runstore.ErrClaimed)
	d.Expire(t, hosts[0])
	taken := claim(t, hosts[1], "run_1")
	if taken.Epoch() <= c.Epoch() {
		t.Errorf("epoch %d after %d", taken.Epoch(), c.Epoch())
	}
	is(t, hosts[1], "run_1", answered(1, `1`))
	stale(t, "taken over", hosts[2], c, "run_1")
	must(t, taken.Checkpoint(ctx, Record("run_1", 2)))
	stale(t, "taken over and written", hosts[2], c, "run_1")
	c.Release()
	_, err = hosts[2].Claim(ctx, "run_1")
	want(t, "a claim after the stale host has released its own", err, runstore.ErrClaimed)
	must(t, taken.End(ctx, Ended("run_1", `1`)))
	is(t, hosts[2], "run_1", "the result 1")
	if s, ok := hosts[2].(runstore.Shared); ok {
		o, err := s.Owner(ctx, "run_1")
		if err != nil || o.Epoch != taken.Epoch() || o.Host == "" {
			t.Errorf("the owner is %+v, %v", o, err)
		}
		peers, err := s.Peers(ctx, 10)
		if err != nil || !slices.ContainsFunc(peers, func(p runstore.Peer) bool { return p.Host == o.Host && !p.Until.IsZero() }) {
			t.Errorf("the owner is not among the hosts: %+v, %v", peers, err)
		}
		taken.Release()
		_, err = s.Owner(ctx, "run_1")
		want(t, "the owner of a run that is free", err, runstore.ErrNotFound)
	}
}

func testReservations(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	a, ok := hosts[0].(runstore.Identified)
	if !ok {
		t.Skip("this store cannot be told from others")
	}
	b := hosts[1].(runstore.Identified)
	if a.Identity() == "" || a.Identity() != b.Identity() {
		t.Errorf("the identities are %q and %q", a.Identity(), b.Identity())
	}
	if other := d.open(t).(runstore.Identified); other.Identity() == a.Identity() {
		t.Errorf("another store has the identity %q, too", other.Identity())
	}
	release, err := a.Reserve(ctx, "run_1")
	must(t, err)
	for _, s := range []runstore.Identified{a, b} {
		_, err = s.Reserve(ctx, "run_1")
		want(t, "an id that is held", err, runstore.ErrClaimed)
	}
	put(t, hosts[1], Record("run_1", 1)) // Create does not look at it
	release()
	release()
	release, err = b.Reserve(ctx, "run_1")
	must(t, err)
	if d.Expire != nil {
		d.Expire(t, hosts[1])
		other, err := a.Reserve(ctx, "run_1")
		must(t, err)
		release()
		_, err = b.Reserve(ctx, "run_1")
		want(t, "an id that another host holds by now", err, runstore.ErrClaimed)
		release = other
	}
	release()
}
