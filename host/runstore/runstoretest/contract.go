package runstoretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/runstore"
)

func testRecords(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	first := Record("run_1", 1)
	c := create(t, hosts[0], first)
	for i, s := range hosts {
		got, err := s.Get(ctx, "run_1")
		must(t, err)
		if d := cmp.Diff(first, got, anyEpoch); d != "" {
			t.Errorf("host %d: the record changed (-want +got):\n%s", i, d)
		}
		if got.Epoch != c.Epoch() {
			t.Errorf("host %d: the epoch is %d, want %d", i, got.Epoch, c.Epoch())
		}
		list, err := s.List(ctx)
		must(t, err)
		if len(list) != 1 || list[0].ID != "run_1" || list[0].Image != nil || list[0].ImageBytes != len(first.Image) || len(list[0].Calls) != 2 {
			t.Errorf("host %d lists %+v", i, list)
		}
	}
	next := Record("run_1", 2)
	next.Image, next.Calls = []byte("another"), []runstore.Call{{ID: 9, Method: "yield", State: runstore.CallQueued}}
	must(t, c.Checkpoint(ctx, next))
	for i, s := range hosts {
		got, err := s.Get(ctx, "run_1")
		must(t, err)
		if d := cmp.Diff(next, got, anyEpoch); d != "" {
			t.Errorf("host %d: the next record changed (-want +got):\n%s", i, d)
		}
	}
	if err := c.Checkpoint(ctx, Record("run_2", 1)); err == nil {
		t.Error("a record of another run was taken")
	}
	must(t, c.Delete(ctx))
	must(t, c.Delete(ctx))
	for _, s := range hosts {
		is(t, s, "run_1", "nothing")
	}
	want(t, "a checkpoint of a run that was deleted", c.Checkpoint(ctx, Record("run_1", 3)), runstore.ErrNotFound)
	want(t, "answers of a run that was deleted", c.PutCalls(ctx, 2, nil), runstore.ErrNotFound)
}

func testUnknownIDs(t *testing.T, d Driver) {
	ctx := context.Background()
	s := d.open(t)
	for _, id := range []string{"", "nope", "../key", "a/b", "key", "run\x00", strings.Repeat("x", 200)} {
		_, err := s.Get(ctx, id)
		want(t, fmt.Sprintf("Get(%q)", id), err, runstore.ErrNotFound)
		_, err = s.Ended(ctx, id)
		want(t, fmt.Sprintf("Ended(%q)", id), err, runstore.ErrNotFound)
		_, err = s.Claim(ctx, id)
		want(t, fmt.Sprintf("Claim(%q)", id), err, runstore.ErrNotFound)
	}
	for _, id := range []string{"", "../key", "a/b", "run\x00", strings.Repeat("x", 200)} {
		if c, err := s.Create(ctx, Record(id, 1), 0); err == nil {
			c.Release()
			t.Errorf("a run was stored under the id %q", id)
		}
	}
}

func testExpiry(t *testing.T, d Driver) {
	ctx := context.Background()
	s := d.open(t)
	old := Record("old", 1)
	old.Expires = time.Now().Add(-time.Second)
	put(t, s, old)
	put(t, s, Record("fresh", 1))
	r, err := s.Get(ctx, "old")
	want(t, "Get of an expired run", err, runstore.ErrExpired)
	if r == nil || r.ID != "old" {
		t.Errorf("Get of an expired run returns %+v", r)
	}
	if list, err := s.List(ctx); err != nil || len(list) != 1 {
		t.Errorf("List = %v, %v; want the fresh run", list, err)
	}
	claim(t, s, "old").Release() // it is there until it is swept
	left, err := s.Sweep(ctx, time.Now())
	if err != nil || left != 1 {
		t.Errorf("Sweep = %d, %v; want 1 record left", left, err)
	}
	is(t, s, "old", "nothing")
	is(t, s, "fresh", fresh(1))
}

// testKeepUntil: a run with a call that waits for a person is kept as long as the call says,
// also once the person has decided.
func testKeepUntil(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	r := Record("asks", 1)
	r.Expires = time.Now().Add(-time.Second)
	c := create(t, hosts[0], r)
	keep := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	call := r.Calls[0]
	call.State, call.Approval, call.KeepUntil = runstore.CallApproval, "approval", keep
	must(t, c.PutCalls(ctx, 1, []runstore.Call{call}))
	call.State, call.KeepUntil = runstore.CallInFlight, time.Time{}
	must(t, c.PutCalls(ctx, 1, []runstore.Call{call}))
	c.Release()
	for i, s := range hosts {
		if got, err := s.Get(ctx, "asks"); err != nil || got.Expires.Sub(keep).Abs() > time.Second {
			t.Errorf("host %d: Get = %+v, %v; want it to expire at %v", i, got, err, keep)
		}
		if list, err := s.List(ctx); err != nil || len(list) != 1 {
			t.Errorf("host %d: List = %v, %v; want the run", i, list, err)
		}
		if left, err := s.Sweep(ctx, time.Now()); err != nil || left != 1 {
			t.Errorf("host %d: Sweep = %d, %v; want the run left", i, left, err)
		}
	}
	is(t, hosts[1], "asks", fresh(1))
	_, err := hosts[0].Create(ctx, Record("more", 1), 1)
	want(t, "one more run of one", err, runstore.ErrFull)
}

func testSweepLeavesClaimedRuns(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	r := Record("held", 1)
	r.Expires = time.Now().Add(-time.Second)
	c := create(t, hosts[0], r)
	for i, s := range hosts {
		if left, err := s.Sweep(ctx, time.Now()); err != nil || left != 1 {
			t.Errorf("host %d: Sweep = %d, %v; want the claimed run left", i, left, err)
		}
	}
	must(t, c.Checkpoint(ctx, Record("held", 2)))
	is(t, hosts[1], "held", fresh(2))
}

func testMaximum(t *testing.T, d Driver) {
	ctx := context.Background()
	s := d.open(t)
	var claims []runstore.Claim
	for i := range 3 {
		c, err := s.Create(ctx, Record("run_"+strconv.Itoa(i), 1), 3)
		must(t, err)
		t.Cleanup(c.Release)
		claims = append(claims, c)
	}
	_, err := s.Create(ctx, Record("run_3", 1), 3)
	want(t, "the fourth of three", err, runstore.ErrFull)
	_, err = s.Create(ctx, Record("run_0", 1), 3)
	want(t, "a run that is there, in a full store", err, runstore.ErrClaimed)
	expired := Record("run_2", 2)
	expired.Expires = time.Now().Add(-time.Second)
	must(t, claims[2].Checkpoint(ctx, expired))
	claims[2].Release()
	c, err := s.Create(ctx, Record("run_4", 1), 3)
	must(t, err) // an expired run takes no place
	c.Release()
	must(t, claims[0].End(ctx, Ended("run_0", `{}`)))
	c, err = s.Create(ctx, Record("run_5", 1), 3)
	must(t, err) // nor does a result
	c.Release()
}

func testJournal(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	c := create(t, hosts[0], Record("run_1", 1))
	must(t, c.PutCalls(ctx, 1, Settled(1, `42`)))
	got, err := hosts[1].Get(ctx, "run_1")
	must(t, err)
	calls := Record("run_1", 1).Calls
	calls[0].State, calls[0].OK, calls[0].Answer = runstore.CallSettled, true, []byte(`42`)
	if d := cmp.Diff(calls, got.Calls); d != "" {
		t.Errorf("journal (-want +got):\n%s", d)
	}
	for what, calls := range map[string][]runstore.Call{
		"an answer to a call that the record does not have": {{ID: 7}},
		"such an answer behind a good one":                  append(Settled(2, `1`), runstore.Call{ID: 7}),
	} {
		if err := c.PutCalls(ctx, 1, calls); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	is(t, hosts[1], "run_1", answered(1, `42`))
	for _, generation := range []uint64{0, 2} {
		want(t, fmt.Sprintf("journal of generation %d", generation), c.PutCalls(ctx, generation, Settled(1, `43`)), runstore.ErrNotFound)
	}
	must(t, c.PutCalls(ctx, 1, nil))
	// A new image brings its own calls; the old journal is void.
	next := Record("run_1", 2)
	next.Calls = []runstore.Call{{ID: 9, Method: "yield", State: runstore.CallQueued}}
	must(t, c.Checkpoint(ctx, next))
	is(t, hosts[1], "run_1", "generation 2, call 9 queued ")
	// A writer that is late has the same call ids, and belongs to the old image.
	for _, calls := range [][]runstore.Call{nil, Settled(1, `42`), Settled(9, `42`)} {
		want(t, "journal of the generation before", c.PutCalls(ctx, 1, calls), runstore.ErrNotFound)
	}
}

func testResults(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	c := create(t, hosts[0], Record("a", 1))
	_, err := hosts[1].Ended(ctx, "a")
	want(t, "the result of a run that goes on", err, runstore.ErrNotFound)
	result := Ended("a", `{"status":"completed"}`)
	must(t, c.End(ctx, result))
	for i, s := range hosts {
		got, err := s.Ended(ctx, "a")
		if err != nil || string(got.Result) != string(result.Result) || got.Session != result.Session || got.Epoch != c.Epoch() {
			t.Errorf("host %d: Ended = %+v, %v", i, got, err)
		}
		_, err = s.Get(ctx, "a")
		want(t, "Get of a run that has ended", err, runstore.ErrEnded)
		if list, err := s.List(ctx); err != nil || len(list) != 0 {
			t.Errorf("host %d: List = %v, %v", i, list, err)
		}
	}
	want(t, "a checkpoint of a run that has ended", c.Checkpoint(ctx, Record("a", 2)), runstore.ErrNotFound)
	want(t, "answers of a run that has ended", c.PutCalls(ctx, 1, Settled(1, `1`)), runstore.ErrNotFound)
	_, err = hosts[1].Claim(ctx, "a")
	want(t, "a claim of a result that is being delivered", err, runstore.ErrClaimed)
	c.Release()
	_, err = hosts[1].Sweep(ctx, time.Now())
	must(t, err)
	_, err = hosts[1].Create(ctx, Record("a", 1), 0)
	want(t, "another run of the id", err, runstore.ErrClaimed)
	again := claim(t, hosts[1], "a")
	if again.Epoch() <= c.Epoch() {
		t.Errorf("the claim of the result has epoch %d, that before it %d", again.Epoch(), c.Epoch())
	}
	must(t, again.Delete(ctx))
	is(t, hosts[0], "a", "nothing")
	again.Release()

	c = create(t, hosts[0], Record("old", 1))
	old := Ended("old", `{}`)
	old.Expires = time.Now().Add(-time.Second)
	must(t, c.End(ctx, old))
	c.Release()
	_, err = hosts[1].Ended(ctx, "old")
	want(t, "an old result", err, runstore.ErrExpired)
	_, err = hosts[1].Sweep(ctx, time.Now())
	must(t, err)
	_, err = hosts[1].Ended(ctx, "old")
	want(t, "a result that was swept", err, runstore.ErrNotFound)
}

func testResultsAreBounded(t *testing.T, d Driver) {
	ctx := context.Background()
	s := d.open(t)
	c := create(t, s, Record("huge", 1))
	want(t, "a result that is too large", c.End(ctx, Ended("huge", string(make([]byte, runstore.MaxEndedBytes+1)))), runstore.ErrTooLarge)
	is(t, s, "huge", fresh(1))
	c.Release()
	id := func(i int) string { return fmt.Sprintf("r%03d", i) }
	for i := range runstore.MaxEnded + 3 {
		c := create(t, s, Record(id(i), 1))
		e := Ended(id(i), `{}`)
		e.Expires = e.Expires.Add(time.Duration(i) * time.Second)
		must(t, c.End(ctx, e))
		c.Release()
	}
	if _, err := s.Sweep(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	there := 0
	for i := range runstore.MaxEnded + 3 {
		if _, err := s.Ended(ctx, id(i)); err == nil {
			there++
		} else if i >= 3 {
			t.Errorf("%s: %v", id(i), err)
		}
	}
	if there != runstore.MaxEnded {
		t.Errorf("%d results are kept, want %d", there, runstore.MaxEnded)
	}
}

// testHammer stores, reads and claims one run from many goroutines: a reader sees some
// whole record, never a mixture.
func testHammer(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	put(t, hosts[0], Record("run_1", 1))
	var wg sync.WaitGroup
	for g := range 8 {
		s := hosts[g%2]
		wg.Go(func() {
			for i := range 20 {
				r := Record("run_1", uint64(g*100+i))
				r.Image = bytes.Repeat([]byte{byte(g)}, 100)
				c, err := s.Claim(ctx, "run_1")
				if err == nil {
					if err := c.Checkpoint(ctx, r); err != nil {
						t.Errorf("Checkpoint: %v", err)
					}
					c.Release()
				} else if !errors.Is(err, runstore.ErrClaimed) {
					t.Errorf("Claim: %v", err)
				}
				got, err := s.Get(ctx, "run_1")
				if err != nil {
					t.Errorf("Get: %v", err)
				} else if len(got.Image) == 100 && uint64(got.Image[0]) != got.Generation/100 {
					t.Errorf("the image of %d under generation %d", got.Image[0], got.Generation)
				}
			}
		})
	}
	wg.Wait()
}
