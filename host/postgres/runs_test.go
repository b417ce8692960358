package postgres_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// key is the key of all hosts of the tests.
func key(t testing.TB, seed string) *runstore.Key {
	t.Helper()
	secret := sha256.Sum256([]byte(seed))
	k, err := runstore.NewKey(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func emptyDatabase(t testing.TB) string { return postgrestest.Database(t) }

// database returns an empty database with its tables.
func database(t testing.TB) string {
	t.Helper()
	return postgrestest.Filled(t, func(url string) error {
		_, _, err := postgres.Migrate(t.Context(), url)
		return err
	})
}

// open connects one more host.
func open(t testing.TB, url string, o postgres.Options) *postgres.DB {
	t.Helper()
	if o.Key == nil {
		o.Key = key(t, "the key")
	}
	d, err := postgres.Open(t.Context(), url, postgres.Quick(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func record(id string) *runstore.Record {
	return &runstore.Record{
		ID: id, Format: runstore.FormatVersion, Generation: 1, GuestBuild: "build", Session: codemode.Session{SessionID: "s"},
		Created: time.Now().UTC().Round(time.Microsecond), Expires: time.Now().Add(time.Hour).UTC().Round(time.Microsecond),
		Calls: []runstore.Call{
			{ID: 1, Method: "call", Target: "a", Args: json.RawMessage(`[1]`), IdempotencyKey: "k1", State: runstore.CallInFlight},
			{ID: 2, Method: "call", Target: "b", State: runstore.CallQueued},
		},
		Image: []byte("image of " + id),
	}
}

func settled(id uint64, answer string) []runstore.Call {
	return []runstore.Call{{ID: id, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(answer)}}
}

func create(t testing.TB, d *postgres.DB, r *runstore.Record) runstore.Claim {
	t.Helper()
	c, err := d.Create(t.Context(), r, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// holds fails the test unless the store has r.
func holds(t *testing.T, d *postgres.DB, want *runstore.Record) {
	t.Helper()
	got, err := d.Get(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	got.Epoch = want.Epoch
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// TestPostgresRunOfTwoHosts: a run goes from one host to another with everything that
// the first has written, and the first writes no more.
func TestPostgresRunOfTwoHosts(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), database(t)
	a, b := open(t, url, postgres.Options{Address: "a:1"}), open(t, url, postgres.Options{Address: "b:1"})
	r := record("run")
	first := create(t, a, r)
	holds(t, b, r)
	if err := first.PutCalls(ctx, 1, settled(1, `"<answer>"`)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(ctx, "run"); !errors.Is(err, runstore.ErrClaimed) {
		t.Fatalf("claim of a run that is claimed: %v", err)
	}
	if o, err := b.Owner(ctx, "run"); err != nil || o.Host != a.Host() || o.Address != "a:1" || o.Epoch != 1 {
		t.Errorf("owner: %+v, %v", o, err)
	}
	first.Release()
	if _, err := b.Owner(ctx, "run"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("owner of a free run: %v", err)
	}
	second, err := b.Claim(ctx, "run")
	if err != nil {
		t.Fatal(err)
	}
	if second.Epoch() != 2 {
		t.Errorf("epoch %d", second.Epoch())
	}
	if err := second.PutCalls(ctx, 1, settled(2, `2`)); err != nil {
		t.Fatal(err)
	}
	r.Calls[0].State, r.Calls[0].OK, r.Calls[0].Answer = runstore.CallSettled, true, json.RawMessage(`"<answer>"`)
	r.Calls[1].State, r.Calls[1].OK, r.Calls[1].Answer = runstore.CallSettled, true, json.RawMessage(`2`)
	holds(t, a, r)
	for name, err := range map[string]error{
		"Checkpoint": first.Checkpoint(ctx, r), "PutCalls": first.PutCalls(ctx, 1, settled(1, `1`)),
		"End": first.End(ctx, &runstore.Ended{ID: "run"}), "Delete": first.Delete(ctx),
	} {
		if !errors.Is(err, runstore.ErrFenced) {
			t.Errorf("%s of a claim that is over: %v", name, err)
		}
	}
	r.Generation, r.Image, r.Calls = 2, []byte("image 2"), r.Calls[1:]
	if err := second.Checkpoint(ctx, r); err != nil {
		t.Fatal(err)
	}
	holds(t, a, r)
	e := &runstore.Ended{ID: "run", Epoch: 2, Session: r.Session, Expires: r.Expires, Result: json.RawMessage(`{"status":"completed"}`)}
	if err := second.End(ctx, e); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Get(ctx, "run"); !errors.Is(err, runstore.ErrEnded) {
		t.Errorf("Get of a run that has ended: %v", err)
	}
	got, err := a.Ended(ctx, "run")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if err := second.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Get(ctx, "run"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("Get of a run that is gone: %v", err)
	}
	second.Release()
}

// TestPostgresResultsMakeRoom: the results that expire first go when there are too many,
// but none that a host has yet to deliver.
func TestPostgresResultsMakeRoom(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := open(t, database(t), postgres.Keeping(slow, 1))
	var claims []runstore.Claim
	for i, id := range []string{"first", "second", "third"} {
		c := create(t, d, record(id))
		must(t, c.End(ctx, &runstore.Ended{ID: id, Expires: time.Now().Add(time.Duration(i+1) * time.Hour), Result: []byte(`{}`)}))
		claims = append(claims, c)
	}
	kept := func(want ...string) {
		t.Helper()
		_, err := d.Sweep(ctx, time.Now())
		must(t, err)
		var ids []string
		must(t, d.QueryRow(ctx, `SELECT array_agg(id ORDER BY expires) FROM quoin.runs`).Scan(&ids))
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	}
	kept("first", "second", "third")
	claims[1].Release()
	claims[2].Release()
	kept("first", "third")
	claims[0].Release()
	kept("third")
}
