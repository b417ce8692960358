package host_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// mutedStore is a store of several hosts that does not take a wake-up.
type mutedStore struct {
	*hostView

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

// TestCloseOfManyRunsHasOneBound: the store of a host does not answer. The host tells the
// other hosts of all its runs in the time of one run.
func TestCloseOfManyRunsHasOneBound(t *testing.T) {
	t.Parallel()
	const runs = 40
	shared, g := newSharedRuns(), newGate()
	store := &mutedStore{hostView: shared.of("one"), bounds: map[time.Time]bool{}}
	cfg := host.Config{Store: store, Tools: []catalog.Tool{g.tool("slow")}, DrainTimeout: 1, Settings: host.Settings{MaxSuspended: 4 * runs}}
	h := start(t, cfg.WithTimes(func(n *host.Times) { n.Runs.LastWakesTimeout /= 10 }))
	for range runs {
		execBriefly(t, h, codemode.ReasonPendingTools, `return await tools.slow()`)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if store.woken != runs || len(store.bounds) != 1 {
		t.Errorf("%d wake-ups with %d bounds, want %d with one", store.woken, len(store.bounds), runs)
	}
	if n := len(shared.claims); n != 0 {
		t.Errorf("%d claims are left", n)
	}
}
