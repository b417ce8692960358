package host_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/runstore"
)

// fullStore takes no new state of a run while it is full.
type fullStore struct {
	runstore.Store
	full atomic.Bool
}

func (s *fullStore) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s *fullStore) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(s)(s.Store.Claim(ctx, id))
}

func (s *fullStore) checkpoint(ctx context.Context, claim runstore.Claim, r *runstore.Record) error {
	if s.full.Load() {
		return errors.New("no space left on device")
	}
	return claim.Checkpoint(ctx, r)
}

// TestARunThatCannotBeStoredAgainIsKept: a run that goes on and cannot be suspended
// again does not end as failed and come back later: it is kept as it was, says so, and
// completes once.
func TestARunThatCannotBeStoredAgainIsKept(t *testing.T) {
	t.Parallel()
	store := &fullStore{Store: openDir(t, mkdir(t))}
	h := start(t, host.Config{Store: store})
	id := wantWaiting(t, exec(h, `await yield_control(); await yield_control(); return 7`), host.ReasonYield)
	store.full.Store(true)
	for range 2 {
		got := h.Wait(context.Background(), me, id)
		wantFailure(t, got, host.CodeUnavailable, host.ReasonStoreFailed, host.PhaseHost)
		if !strings.Contains(got.Error, "no space left") || !strings.Contains(got.Error, "kept as it was") {
			t.Errorf("got %s", show(got))
		}
	}
	store.full.Store(false)
	wantWaiting(t, h.Wait(context.Background(), me, id), host.ReasonYield)
	wantValue(t, h.Wait(context.Background(), me, id), `7`)
}
