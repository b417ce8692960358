package journal_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/runstore"
)

// uncertain is a store that stores the first record of a run and says that it has not.
type uncertain struct{ *Kept }

func (s uncertain) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	c, err := s.Kept.Create(ctx, r, max)
	if err == nil {
		c.Release()
		err = errDisk
	}
	return nil, err
}

// TestARunWhoseFirstRecordIsUncertainEnds: its caller is told that it has failed, so no other
// host may resume it.
func TestARunWhoseFirstRecordIsUncertainEnds(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store := NewKept()
		r := Start(t, Setup{Store: uncertain{store}}).Run(func(g *Guest) any {
			g.Yield()
			return 1
		})
		WantFailure(t, r, codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
		if list, err := store.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("the store has %v, %v", list, err)
		}
	})
}

// lapsed is a store with claims that hold only once they were renewed.
type lapsed struct {
	*Kept
	renew func() error
}

type lapsedClaim struct {
	runstore.Claim
	store *lapsed
	held  atomic.Bool
}

func (s *lapsed) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	c, err := s.Kept.Create(ctx, r, max)
	return &lapsedClaim{Claim: c, store: s}, err
}

func (s *lapsed) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := s.Kept.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	return &lapsedClaim{Claim: c, store: s}, nil
}

func (c *lapsedClaim) Held() bool { return c.held.Load() }

func (c *lapsedClaim) Renew(context.Context) error {
	err := c.store.renew()
	c.held.Store(err == nil)
	return err
}

// TestALapsedHostStartsNoCall of a stored run until it has renewed its lease, and no call at
// all of a run that another host has taken over by then.
func TestALapsedHostStartsNoCall(t *testing.T) {
	for name, renewed := range map[string]error{"renewed": nil, "taken over": runstore.ErrFenced} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var paid Calls
				renews := 0
				store := &lapsed{NewKept(), func() error {
					if renews++; paid.Len() > 0 {
						t.Error("the call was made without a lease")
					}
					return renewed
				}}
				h := Start(t, Setup{Store: store, Tools: []catalog.Tool{paid.Tool("pay")}})
				r := h.Resume(WantWaiting(t, h.Run(func(g *Guest) any {
					g.Yield()
					g.Call("pay", N(1))
					return g.Call("pay", N(2))
				}), codemode.ReasonYield))
				if renewed != nil {
					WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
					wantCalls(t, &paid, 0)
				} else {
					WantValue(t, r, `{"n":2}`)
					wantCalls(t, &paid, 2)
				}
				if renews != 1 {
					t.Errorf("%d renewals, want 1", renews)
				}
			})
		})
	}
}
