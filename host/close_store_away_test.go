package host_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

// mutedStore is a store of several hosts that does not take a wake-up.
type mutedStore struct {
	*hostView
	gone atomic.Bool // it says so

	mu     sync.Mutex
	woken  int
	bounds map[time.Time]bool // of the wake-ups
}

func (s *mutedStore) Wake(ctx context.Context, _ string) error {
	end, _ := ctx.Deadline()
	s.mu.Lock()
	s.woken++
	s.bounds[end] = true
	s.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (s *mutedStore) Due(context.Context, int) ([]string, error) { return nil, nil }

func (s *mutedStore) Watch(ctx context.Context) <-chan string {
	out := make(chan string)
	context.AfterFunc(ctx, func() { close(out) })
	return out
}

func (s *mutedStore) Health(context.Context) runstore.Health {
	if s.gone.Load() {
		return runstore.Health{State: runstore.HealthGone}
	}
	return runstore.Health{State: runstore.HealthOK}
}

// TestCloseOfManyRunsHasOneBound: a host whose store does not answer tells the others of all
// its runs, or of none, in the time of one. A store that is known to be away is not told.
func TestCloseOfManyRunsHasOneBound(t *testing.T) {
	t.Parallel()
	const runs = 40
	for name, tc := range map[string]struct {
		gone          bool
		woken, bounds int
	}{
		"it does not answer":     {false, runs, 1},
		"it is known to be away": {true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared, g := newSharedRuns(), newGate()
			store := &mutedStore{hostView: shared.of("one"), bounds: map[time.Time]bool{}}
			h := start(t, host.Config{Store: store, Tools: []catalog.Tool{g.tool("slow")}, DrainTimeout: 1, Settings: host.Settings{MaxSuspended: 4 * runs}})
			for range runs {
				execBriefly(t, h, host.ReasonPendingTools, `return await tools.slow()`)
			}
			store.gone.Store(tc.gone)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if store.woken != tc.woken || len(store.bounds) != tc.bounds {
				t.Errorf("%d wake-ups with %d bounds, want %d with %d", store.woken, len(store.bounds), tc.woken, tc.bounds)
			}
			if n := len(shared.claims); n != 0 {
				t.Errorf("%d claims are left", n)
			}
		})
	}
}
