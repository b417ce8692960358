package runs

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// sharedStore is a store of several hosts. It tells them of runs that can continue.
type sharedStore struct {
	runstore.Memory
	runstore.Shared // a part that no test asks
	woken           []string
	onClaim         func()
	onRelease       func()
	delivered       bool // each result
}

func (s *sharedStore) Ended(ctx context.Context, id string) (*runstore.Ended, error) {
	if s.delivered {
		return nil, runstore.ErrNotFound
	}
	return s.Memory.Ended(ctx, id)
}

func (s *sharedStore) Wake(_ context.Context, id string) error {
	s.woken = append(s.woken, id)
	return nil
}

func (s *sharedStore) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := s.Memory.Claim(ctx, id)
	if err == nil && s.onClaim != nil {
		s.onClaim()
	}
	if err != nil {
		return nil, err
	}
	return &toldClaim{c, s}, nil
}

type toldClaim struct {
	runstore.Claim
	store *sharedStore
}

func (c *toldClaim) Release() {
	if c.store.onRelease != nil {
		c.store.onRelease()
	}
	c.Claim.Release()
}

// stored puts a run into the store that no host has.
func stored(t *testing.T, s runstore.Store, rec runstore.Record) *runstore.Record {
	t.Helper()
	if rec.ID == "" {
		var err error
		if rec.ID, err = run.NewID(); err != nil {
			t.Fatal(err)
		}
	}
	rec.Generation, rec.Expires = max(rec.Generation, 1), time.Now().Add(time.Hour)
	c, err := s.Create(t.Context(), &rec, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	return &rec
}

// TestOtherHostsHearOfARunThatIsLeft before its claim is free, if it can continue.
func TestOtherHostsHearOfARunThatIsLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value string // of the call of the run; "": it is in flight
		told  bool
	}{
		"an answer waits":     {`1`, true},
		"a call is in flight": {"", true},
		"nothing":             {"taken", false},
	} {
		store := &sharedStore{}
		e := newTestEngine(t, store, nil, catalog.Tool{Name: "echo"})
		r := newTestRun(t, e)
		owner := e.RecordOwner(r)
		owner.Describe = func(rec *runstore.Record) { rec.Session, rec.Created = r.Session, time.Now() }
		r.Record = journal.New(r.ID, toldStore{store, store}, 0, e.Logger, r.Calls, owner)
		c := callOf(t, r, "echo")
		r.Record.Exclusive(func() {
			if _, _, err := r.Record.Suspend(t.Context(), nil, nil, 0, func(rec *runstore.Record) { rec.Expires = time.Now().Add(time.Hour) }); err != nil {
				t.Fatal(err)
			}
		})
		if tt.value != "" {
			if _, lost := r.Record.Settle(t.Context(), c, nil, json.RawMessage(tt.value), nil); lost != nil {
				t.Fatal(lost)
			}
		}
		if tt.value == "taken" {
			r.Calls.DrainInbox()
		}
		var before []string
		store.onRelease = func() { before = slices.Clone(store.woken) }
		r.Record.DropClaim()
		if told := slices.Equal(before, []string{r.ID}); told != tt.told || !told && len(store.woken) > 0 {
			t.Errorf("%s: before the release other hosts were told of %v", name, before)
		}
	}
}

// TestOtherHostsHearOfARunThatIsRefused: one of them may have what this one lacks.
func TestOtherHostsHearOfARunThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rec  runstore.Record
		told bool
	}{
		"an answer waits for it":  {runstore.Record{Calls: []runstore.Call{{ID: 1, Method: "call", State: runstore.CallSettled, OK: true, Answer: json.RawMessage(`1`)}}}, true},
		"it waits for its caller": {runstore.Record{Calls: []runstore.Call{{ID: 1, Method: "yield", State: runstore.CallQueued}}}, false},
	} {
		store := &sharedStore{}
		e := newTestEngine(t, store, nil)
		tt.rec.Owners = []string{run.OfPlugins + "gone"}
		rec := stored(t, store, tt.rec)
		_, _, f := e.load(t.Context(), rec.Session, rec.ID, 0, nil)
		if f == nil || slices.Equal(store.woken, []string{rec.ID}) != tt.told {
			t.Errorf("%s: %v, and other hosts were told of %v", name, f, store.woken)
		}
		if c, err := store.Memory.Claim(t.Context(), rec.ID); err != nil {
			t.Errorf("%s: the claim is not free: %v", name, err)
		} else {
			c.Release()
		}
	}
}

// TestAResultIsDeliveredOnce: another caller can have taken it before the claim was had.
func TestAResultIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	store := &sharedStore{}
	e := newTestEngine(t, store, nil)
	rec := stored(t, store, runstore.Record{})
	claim, err := store.Claim(t.Context(), rec.ID)
	if err != nil {
		t.Fatal(err)
	}
	result, err := (&codemode.Result{Status: codemode.StatusCompleted, Value: json.RawMessage(`1`)}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.End(t.Context(), &runstore.Ended{ID: rec.ID, Expires: time.Now().Add(time.Hour), Result: result}); err != nil {
		t.Fatal(err)
	}
	claim.Release()
	store.onClaim = func() { store.delivered = true }
	res, f := e.delivered(t.Context(), codemode.Session{}, rec.ID, nil)
	if res != nil || f == nil || f.Reason != codemode.ReasonRunUnavailable {
		t.Errorf("got %+v, %v", res, f)
	}
}

// toldStore is a shared store that outlives the process, for all that a record can tell.
type toldStore struct {
	runstore.Store
	shared *sharedStore
}

func (s toldStore) Create(ctx context.Context, r *runstore.Record, limit int) (runstore.Claim, error) {
	claim, err := s.Store.Create(ctx, r, limit)
	return &toldClaim{claim, s.shared}, err
}
