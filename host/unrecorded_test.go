package host_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

// refusingStore refuses writes of runs while it is full. The write before that may be made
// although its answer is lost.
type refusingStore struct {
	runstore.Store
	full    atomic.Bool
	commits atomic.Int32  // so many writes are made all the same
	refused chan struct{} // a deletion was refused
}

func (s *refusingStore) write(do func() error) error {
	if !s.full.Load() {
		return do()
	}
	if s.commits.Add(-1) >= 0 {
		if err := do(); err != nil {
			return err
		}
	}
	return errDisk
}

func (s *refusingStore) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s *refusingStore) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(s)(s.Store.Claim(ctx, id))
}

func (s *refusingStore) checkpoint(ctx context.Context, c runstore.Claim, r *runstore.Record) error {
	return s.write(func() error { return c.Checkpoint(ctx, r) })
}

func (s *refusingStore) putCalls(ctx context.Context, c runstore.Claim, generation uint64, calls []runstore.Call) error {
	return s.write(func() error { return c.PutCalls(ctx, generation, calls) })
}

func (s *refusingStore) end(ctx context.Context, c runstore.Claim, e *runstore.Ended) error {
	return s.write(func() error { return c.End(ctx, e) })
}

func (s *refusingStore) remove(ctx context.Context, c runstore.Claim) error {
	err := s.write(func() error { return c.Delete(ctx) })
	if s.refused != nil {
		s.refused <- struct{}{}
	}
	return err
}

// wantKept wants a result that says that the run is as it was, because its store fails.
func wantKept(t *testing.T, r *host.Result) {
	t.Helper()
	wantFailure(t, r, host.CodeUnavailable, host.ReasonStoreFailed, host.PhaseHost)
	if !strings.Contains(r.Error, "kept as it was") {
		t.Errorf("got %s", show(r))
	}
}

// TestACallOfUnknownRecordIsNeitherMadeNorRejected: the store refuses the checkpoint of a
// call, or has made it and its answer is lost. The program is not told that the call was
// not made, which a host may make that goes on from the store; nor is it made here.
func TestACallOfUnknownRecordIsNeitherMadeNorRejected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		commits int32
		want    string
		calls   int
	}{
		"refused":     {0, `{"n":1}`, 1},
		"answer lost": {1, `"unknown"`, 0},
	} {
		for how, wait := range waits {
			t.Run(name+", "+how, func(t *testing.T) {
				store := &refusingStore{Store: openDir(t, mkdir(t))}
				var calls []catalog.Invocation
				h := start(t, host.Config{Store: store, Tools: []catalog.Tool{counted("pay", &calls)}})
				id := wantWaiting(t, exec(h, `await yield_control()
					try { return await tools.pay({n: 1}) } catch (e) { return e.effectStatus ?? e.message }`), host.ReasonYield)
				store.commits.Store(tc.commits)
				store.full.Store(true)
				wantKept(t, wait(h, id))
				if len(calls) != 0 {
					t.Fatalf("%d calls that were not recorded", len(calls))
				}
				store.full.Store(false)
				wantValue(t, wait(h, id), tc.want)
				if len(calls) != tc.calls {
					t.Errorf("%d calls, want %d", len(calls), tc.calls)
				}
			})
		}
	}
}

var waits = map[string]func(*host.Host, string) *host.Result{
	"wait":    func(h *host.Host, id string) *host.Result { return h.Wait(context.Background(), me, id) },
	"deliver": func(h *host.Host, id string) *host.Result { return h.Deliver(context.Background(), me, id, 0).Result },
}

// TestAResultOfUnknownRecordIsNotDelivered: a run whose end the store may not have has no
// result yet. Else another host could go on with it after its caller had one.
func TestAResultOfUnknownRecordIsNotDelivered(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]int32{"refused": 0, "answer lost": 1} {
		t.Run(name, func(t *testing.T) {
			store := &refusingStore{Store: openDir(t, mkdir(t))}
			h := start(t, host.Config{Store: store})
			id := wantWaiting(t, exec(h, `await yield_control(); return 1`), host.ReasonYield)
			store.commits.Store(commits)
			store.full.Store(true)
			wantKept(t, waits["deliver"](h, id))
			store.full.Store(false)
			wantValue(t, waits["deliver"](h, id), `1`)
		})
	}
}

// TestAnEndedRunIsHeldUntilItIsDeleted: the caller has the result, so no other host goes on
// with the run while the store refuses to delete it.
func TestAnEndedRunIsHeldUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	store := &refusingStore{Store: openDir(t, dir), refused: make(chan struct{})}
	h := start(t, host.Config{Store: store})
	next := openDir(t, dir)
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), host.ReasonYield)
	store.full.Store(true)
	done := make(chan *host.Result, 1)
	go func() { done <- h.Wait(context.Background(), me, id) }()
	<-store.refused
	wantValue(t, <-done, `1`)
	<-store.refused
	if _, err := next.Claim(t.Context(), id); err != runstore.ErrClaimed {
		t.Errorf("another host claims the run: %v", err)
	}
	store.full.Store(false)
	<-store.refused
	if list, err := next.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the store has %v, %v", list, err)
	}
}
