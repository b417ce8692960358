package host_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

// trapStore does something else when a run is read the next time.
type trapStore struct {
	runstore.Store
	onGet atomic.Pointer[func() error]
}

func (s *trapStore) Get(ctx context.Context, id string) (*runstore.Record, error) {
	if f := s.onGet.Swap(nil); f != nil {
		if err := (*f)(); err != nil {
			return nil, err
		}
	}
	return s.Store.Get(ctx, id)
}

func (s *trapStore) next(f func() error) { s.onGet.Store(&f) }

// TestAnAbortBesideAWaitThatFails: a run that is aborted while a Wait takes it up is
// gone, also if that Wait cannot go on with it. The abort returns.
func TestAnAbortBesideAWaitThatFails(t *testing.T) {
	for name, get := range map[string]error{
		"the store fails":                errDisk,
		"the run ended in another host":  runstore.ErrEnded,
		"the run is not there any more":  runstore.ErrNotFound,
		"the run has expired in between": runstore.ErrExpired,
	} {
		t.Run(name, func(t *testing.T) {
			store := &trapStore{Store: openDir(t, mkdir(t))}
			h := start(t, host.Config{Store: store})
			id := wantWaiting(t, exec(h, `await yield_control(); return 1`), host.ReasonYield)
			aborted := make(chan *host.Result, 1)
			store.next(func() error {
				go func() { aborted <- h.Abort(context.Background(), me, id) }()
				h.Engine().Aborted(id)
				return get
			})
			if r := h.Wait(t.Context(), me, id); r.Status != host.StatusFailed {
				t.Errorf("the wait: %s", show(r))
			}
			select {
			case r := <-aborted:
				wantFailure(t, r, host.CodeAborted, "", host.PhaseHost)
			case <-t.Context().Done():
				t.Fatal("the abort hangs")
			}
			if taken := h.Engine().Taken(); len(taken) != 0 {
				t.Errorf("the host still holds %v", taken)
			}
		})
	}
}

// TestAStorePanicLeavesNoRunActive: a store that panics while a run is taken up or
// expires ends the run, which would be busy for ever otherwise.
func TestAStorePanicLeavesNoRunActive(t *testing.T) {
	boom := func() error { panic("the store panics") }
	t.Run("in a wait", func(t *testing.T) {
		store := &trapStore{Store: openDir(t, mkdir(t))}
		h := start(t, host.Config{Store: store})
		id := wantWaiting(t, exec(h, `await yield_control(); return 1`), host.ReasonYield)
		store.next(boom)
		wantFailure(t, h.Wait(t.Context(), me, id), host.CodeInternal, "", host.PhaseHost)
		wantFailure(t, h.Wait(t.Context(), me, id), host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseInput)
		if taken := h.Engine().Taken(); len(taken) != 0 {
			t.Errorf("the host still holds %v", taken)
		}
	})
	t.Run("at its end", func(t *testing.T) {
		store := &trapStore{Store: openDir(t, mkdir(t))}
		h := start(t, host.Config{Store: store})
		id := wantWaiting(t, exec(h, `await yield_control(); return 1`), host.ReasonYield)
		store.next(boom)
		h.Engine().Expire(id)
		if taken := h.Engine().Taken(); len(taken) != 0 {
			t.Errorf("the host still holds %v", taken)
		}
		wantValue(t, h.Wait(t.Context(), me, id), `1`) // the store has it still
	})
	t.Run("in the next host", func(t *testing.T) {
		dir := mkdir(t)
		g := newGate()
		tools := []catalog.Tool{g.tool("slow")}
		first := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
		id := wantWaiting(t, exec(first, `const slow = tools.slow(); await yield_control(); return await slow`), host.ReasonPendingTools)
		<-g.entered
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		h := start(t, host.Config{Store: journalPanics{openDir(t, dir)}, Tools: tools})
		wantFailure(t, h.Wait(t.Context(), me, id), host.CodeInternal, "", host.PhaseHost)
		wantFailure(t, h.Wait(t.Context(), me, id), host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseInput)
	})
}

// journalPanics is a store that panics when the journal of a run is written.
type journalPanics struct{ runstore.Store }

func (journalPanics) PutCalls(context.Context, string, uint64, []runstore.Call) error {
	panic("the store panics")
}
