package upkeep_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/runstore"
)

// slowList is a store that takes its time to list runs.
type slowList struct {
	*Kept
	lists atomic.Int64
}

func (s *slowList) List(ctx context.Context) ([]*runstore.Record, error) {
	s.lists.Add(1)
	time.Sleep(time.Millisecond)
	return s.Kept.List(ctx)
}

// TestMovedRunsMakeRoomAtOnce: one run after the other moves away and ends, and the store is
// slow to say so. A look that finds nothing delays the next.
func TestMovedRunsMakeRoomAtOnce(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store := &slowList{Kept: NewKept()}
		setup := Setup{Store: store, Settings: codemode.Settings{MaxSuspended: 2}, Quotas: codemode.Quotas{SessionPercent: 100}}
		first, second := Start(t, setup), Start(t, setup)
		time.Sleep(time.Second) // they have swept
		yields := func(g *Guest) any { g.Yield(); return 1 }
		for range 5 {
			id := WantWaiting(t, first.Run(yields), codemode.ReasonYield)
			WantValue(t, second.Resume(id), "1")
		}
		WantWaiting(t, first.Run(yields), codemode.ReasonYield)
		WantWaiting(t, first.Run(yields), codemode.ReasonYield)
		store.lists.Store(0)
		for range 3 {
			WantFailure(t, first.Run(yields), codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost)
		}
		if looks := store.lists.Load(); looks != 1 {
			t.Errorf("the host looked %d times in a row for runs that have not moved", looks)
		}
	})
}
