package journal

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// durable is a store that outlives the process, for all that a record can tell.
type durable struct{ runstore.Store }

// watchedStore is a store in memory. A test looks at its writes, and can have them fail.
type watchedStore struct {
	runstore.Memory
	writes []string
	fail   error
	during func(write string, calls []runstore.Call)
}

func (s *watchedStore) wrote(write string, calls []runstore.Call) error {
	s.writes = append(s.writes, write)
	if s.during != nil {
		s.during(write, calls)
	}
	return s.fail
}

func (s *watchedStore) Create(ctx context.Context, r *runstore.Record, limit int) (runstore.Claim, error) {
	if err := s.wrote("create", r.Calls); err != nil {
		return nil, err
	}
	claim, err := s.Memory.Create(ctx, r, limit)
	return &watchedClaim{claim, s}, err
}

type watchedClaim struct {
	runstore.Claim
	store *watchedStore
}

func (c *watchedClaim) Checkpoint(ctx context.Context, r *runstore.Record) error {
	if err := c.store.wrote("checkpoint", r.Calls); err != nil {
		return err
	}
	return c.Claim.Checkpoint(ctx, r)
}

func (c *watchedClaim) PutCalls(ctx context.Context, generation uint64, calls []runstore.Call) error {
	if err := c.store.wrote("calls", calls); err != nil {
		return err
	}
	return c.Claim.PutCalls(ctx, generation, calls)
}

// recordWorld is a record without a run: no worker, no driver.
type recordWorld struct {
	*testing.T
	store  *watchedStore
	calls  *calls.Table
	record *Record
	next   uint64
}

func newRecordWorld(t *testing.T) *recordWorld {
	shares := quota.Shares{Session: 100, Agent: 100}
	meter := func(name string) *quota.Meter { return quota.NewMeter(name, name, name, 1<<30, shares) }
	w := &recordWorld{T: t, store: &watchedStore{}}
	w.calls = calls.New("run_x", 2, &calls.InFlight{}, &timing.Defaults, calls.Account{
		Held: meter("held"), Suspended: meter("suspended"), Stored: meter("stored"), Denied: func(d *quota.Denied) { t.Error(d) },
	})
	w.record = New("run_x", durable{w.store}, 0, slog.New(slog.DiscardHandler), w.calls, Owner{
		Describe: func(r *runstore.Record) { r.Created = time.Now() }, Identify: func(*calls.Entry) {}, Dropped: func() {}, LeftDue: func() {}, CountFenced: func(err error) error { return err },
	})
	return w
}

// request has the guest make n calls.
func (w *recordWorld) request(n int) []*calls.Entry {
	w.Helper()
	var reqs []wire.Request
	for range n {
		w.next++
		reqs = append(reqs, wire.Request{ID: w.next, Method: wire.MethodCall, Target: "echo", Args: []byte(`{}`)})
	}
	b, f := w.calls.Admit(reqs, false)
	if f != nil {
		w.Fatal(f)
	}
	return b.Fresh
}

func (w *recordWorld) suspend(fresh ...*calls.Entry) (started []*calls.Entry) {
	w.Helper()
	w.record.Exclusive(func() {
		var err error
		_, started, err = w.record.Suspend(w.Context(), []byte("image"), fresh, 0, func(r *runstore.Record) { r.Expires = time.Now().Add(time.Hour) })
		if err != nil {
			w.Fatal(err)
		}
	})
	return started
}

func (w *recordWorld) checkpoint(fresh []*calls.Entry, image func() ([]byte, error)) (started []*calls.Entry, lost error) {
	w.Helper()
	started, lost, err := w.record.Checkpoint(w.Context(), fresh, image, func(r *runstore.Record) { r.Expires = time.Now().Add(time.Hour) })
	if err != nil {
		w.Fatal(err)
	}
	return started, lost
}

func (w *recordWorld) settle(c *calls.Entry, value string) (started []*calls.Entry, lost error) {
	return w.record.Settle(w.Context(), c, nil, json.RawMessage(value), nil)
}

func small() ([]byte, error) { return []byte("newer image"), nil }

func states(calls []runstore.Call) (out []runstore.CallState) {
	for _, c := range calls {
		out = append(out, c.State)
	}
	return out
}

// TestARunThatWasNeverSuspendedWritesNothing.
func TestARunThatWasNeverSuspendedWritesNothing(t *testing.T) {
	t.Parallel()
	w := newRecordWorld(t)
	started, lost := w.checkpoint(w.request(3), func() ([]byte, error) { return nil, errors.New("no image is wanted") })
	if len(started) != 2 || lost != nil {
		t.Fatalf("%d calls have got a slot: %v", len(started), lost)
	}
	next, lost := w.settle(started[0], `1`)
	if len(next) != 1 || lost != nil || !w.calls.Status().Deliverable {
		t.Errorf("%d calls have got the slot: %v", len(next), lost)
	}
	if len(w.store.writes) != 0 {
		t.Errorf("it wrote %v", w.store.writes)
	}
}

// TestImageBeforeCalls: when the store gets an image, it gets the calls that start next
// as calls in flight, and no call has a slot before.
func TestImageBeforeCalls(t *testing.T) {
	t.Parallel()
	w := newRecordWorld(t)
	w.store.during = func(write string, calls []runstore.Call) {
		if want := []runstore.CallState{runstore.CallInFlight, runstore.CallInFlight, runstore.CallQueued}; write == "create" && !slices.Equal(states(calls), want) {
			t.Errorf("create %v, want %v", states(calls), want)
		}
	}
	first := w.suspend(w.request(3)...)
	for _, c := range first {
		w.settle(c, `1`)
	}
	w.calls.DrainInbox()
	fresh := w.request(1)
	w.store.during = func(write string, calls []runstore.Call) {
		if write == "checkpoint" && !slices.ContainsFunc(calls, func(c runstore.Call) bool { return c.ID == fresh[0].ID }) {
			t.Errorf("the image does not wait for call %d: %v", fresh[0].ID, calls)
		}
	}
	started, lost := w.checkpoint(fresh, small)
	if len(started) != 1 || lost != nil || w.store.writes[len(w.store.writes)-1] != "checkpoint" {
		t.Errorf("started %d, lost %v, after %v", len(started), lost, w.store.writes)
	}
}

// TestACallThatTheStoreDoesNotKnowIsNotMade.
func TestACallThatTheStoreDoesNotKnowIsNotMade(t *testing.T) {
	t.Parallel()
	w := newRecordWorld(t)
	w.suspend()
	w.store.fail = errors.New("input/output error")
	started, lost := w.checkpoint(w.request(1), small)
	if len(started) != 1 || !errors.Is(lost, w.store.fail) {
		t.Errorf("started %d, lost %v", len(started), lost)
	}
}

// TestJournalBeforeAnswer: while the store writes an answer, the guest cannot have it.
func TestJournalBeforeAnswer(t *testing.T) {
	t.Parallel()
	w := newRecordWorld(t)
	started := w.suspend(w.request(2)...)
	w.store.during = func(write string, calls []runstore.Call) {
		if out, _, _ := w.calls.DrainInbox(); write != "calls" || len(out) != 0 || w.calls.Idle() {
			t.Errorf("during %s the guest has %v", write, out)
		}
		if len(calls) != 1 || calls[0].State != runstore.CallSettled || string(calls[0].Answer) != `"one"` {
			t.Errorf("the journal gets %+v", calls)
		}
	}
	if _, lost := w.settle(started[0], `"one"`); lost != nil {
		t.Fatal(lost)
	}
	w.store.during = nil
	if out, _, _ := w.calls.DrainInbox(); len(out) != 1 || string(out[0].JSON) != `"one"` {
		t.Errorf("the guest gets %v", out)
	}
	rec, err := w.store.Get(t.Context(), "run_x")
	if err != nil || len(rec.Calls) != 2 || rec.Calls[0].State != runstore.CallSettled || rec.Calls[1].State != runstore.CallInFlight {
		t.Errorf("the store has %+v, %v", rec, err)
	}
}

// TestASlotThatTheJournalMissed: if the store could not be told of the call that gets the slot
// of a settled one, the run is given up, and the answer is not delivered.
func TestASlotThatTheJournalMissed(t *testing.T) {
	t.Parallel()
	w := newRecordWorld(t)
	started := w.suspend(w.request(3)...)
	w.store.fail = errors.New("input/output error")
	next, lost := w.settle(started[0], `1`)
	if len(next) != 1 || !errors.Is(lost, w.store.fail) {
		t.Errorf("%d calls have got the slot, lost %v", len(next), lost)
	}
	if out, _, _ := w.calls.DrainInbox(); len(out) != 0 || !errors.Is(w.record.GaveUp(), w.store.fail) {
		t.Errorf("the guest gets %v, and the run is given up for %v", out, w.record.GaveUp())
	}
}

// TestALiveRecordTakesNoJournal: a guest that is too large for an image leaves a record that
// says that the run is live; its answers have no image to belong to.
func TestALiveRecordTakesNoJournal(t *testing.T) {
	t.Parallel()
	w := newRecordWorld(t)
	w.suspend()
	started, lost := w.checkpoint(w.request(1), func() ([]byte, error) {
		return nil, &guestrt.WorkerError{Code: string(codemode.CodeSnapshotLimit)}
	})
	if len(started) != 1 || lost != nil || w.record.Valid() {
		t.Fatalf("started %d, lost %v, valid %v", len(started), lost, w.record.Valid())
	}
	w.settle(started[0], `1`)
	if last := w.store.writes[len(w.store.writes)-1]; last != "checkpoint" {
		t.Errorf("it wrote %v", w.store.writes)
	}
	if rec, err := w.store.Get(t.Context(), "run_x"); err != nil || !rec.Live {
		t.Errorf("the store has %+v, %v", rec, err)
	}
}

// TestAnEndedRunJournalsNothing: calls that are cancelled with their run must not leave
// their cancellations as answers.
func TestAnEndedRunJournalsNothing(t *testing.T) {
	t.Parallel()
	w := newRecordWorld(t)
	started := w.suspend(w.request(1)...)
	w.calls.Close()
	w.settle(started[0], `1`)
	if !slices.Equal(w.store.writes, []string{"create"}) {
		t.Errorf("it wrote %v", w.store.writes)
	}
}

// TestAFinishedRunIsForgotten, but not one that another host has changed since.
func TestAFinishedRunIsForgotten(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		w := newRecordWorld(t)
		w.suspend()
		w.record.Exclusive(w.record.DropClaim)
		if changed {
			c, err := w.store.Claim(t.Context(), "run_x")
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Checkpoint(t.Context(), &runstore.Record{ID: "run_x", Generation: 2, Expires: time.Now().Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			c.Release()
		}
		w.record.Exclusive(func() { w.record.Forget(t.Context()) })
		if _, err := w.store.Get(t.Context(), "run_x"); (err == nil) != changed {
			t.Errorf("changed by another host: %v, and then %v", changed, err)
		}
	}
}

// TestACancellationIsJournaled: the next host must not make a call that was cancelled in
// the queue.
func TestACancellationIsJournaled(t *testing.T) {
	t.Parallel()
	w := newRecordWorld(t)
	calls := w.request(3) // two of them have slots
	w.suspend(calls...)
	w.next++
	if _, f := w.calls.Admit([]wire.Request{{ID: w.next, Method: wire.MethodCancel, Args: []byte(`[3]`)}}, false); f != nil {
		t.Fatal(f)
	}
	if err := w.record.Journal(t.Context()); err != nil {
		t.Fatal(err)
	}
	rec, err := w.store.Get(t.Context(), "run_x")
	if err != nil || len(rec.Calls) != 3 || !rec.Calls[2].GivenUp || rec.Calls[1].GivenUp {
		t.Errorf("the store has %+v, %v", rec, err)
	}
}
