package runstest

import (
	"context"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
)

// Kept is a store in memory that outlives its hosts.
type Kept struct {
	runstore.Store
	runstore.Scheduler
	runstore.EffectStore
	memory *runstore.Memory
}

// NewKept returns an empty store.
func NewKept() *Kept {
	m := &runstore.Memory{}
	return &Kept{m, m, m, m}
}

// Seam is a store. A test looks at its writes, or has them fail. Each function, unless it is
// nil, is called in the place of a write, with the claim to make it with.
type Seam struct {
	runstore.Store
	Created    func(context.Context, *runstore.Record) error
	Claimed    func(id string) error
	Got        func(id string) error
	Checkpoint func(context.Context, runstore.Claim, *runstore.Record) error
	PutCalls   func(context.Context, runstore.Claim, uint64, []runstore.Call) error
	End        func(context.Context, runstore.Claim, *runstore.Ended) error
	Delete     func(context.Context, runstore.Claim) error
	Released   func(id string)

	mu     sync.Mutex
	claims int
}

// Claims counts how often runs were claimed.
func (s *Seam) Claims() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims
}

// Create implements runstore.Store.
func (s *Seam) Create(ctx context.Context, r *runstore.Record, limit int) (runstore.Claim, error) {
	if s.Created != nil {
		if err := s.Created(ctx, r); err != nil {
			return nil, err
		}
	}
	return s.seam(s.Store.Create(ctx, r, limit))(r.ID)
}

// Claim implements runstore.Store.
func (s *Seam) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	if s.Claimed != nil {
		if err := s.Claimed(id); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	s.claims++
	s.mu.Unlock()
	return s.seam(s.Store.Claim(ctx, id))(id)
}

// Get implements runstore.Store.
func (s *Seam) Get(ctx context.Context, id string) (*runstore.Record, error) {
	if s.Got != nil {
		if err := s.Got(id); err != nil {
			return nil, err
		}
	}
	return s.Store.Get(ctx, id)
}

func (s *Seam) seam(c runstore.Claim, err error) func(id string) (runstore.Claim, error) {
	return func(id string) (runstore.Claim, error) {
		if err != nil {
			return nil, err
		}
		return &seamClaim{c, s, id}, nil
	}
}

type seamClaim struct {
	runstore.Claim
	store *Seam
	id    string
}

func (c *seamClaim) Checkpoint(ctx context.Context, r *runstore.Record) error {
	if c.store.Checkpoint != nil {
		return c.store.Checkpoint(ctx, c.Claim, r)
	}
	return c.Claim.Checkpoint(ctx, r)
}

func (c *seamClaim) PutCalls(ctx context.Context, generation uint64, calls []runstore.Call) error {
	if c.store.PutCalls != nil {
		return c.store.PutCalls(ctx, c.Claim, generation, calls)
	}
	return c.Claim.PutCalls(ctx, generation, calls)
}

func (c *seamClaim) End(ctx context.Context, e *runstore.Ended) error {
	if c.store.End != nil {
		return c.store.End(ctx, c.Claim, e)
	}
	return c.Claim.End(ctx, e)
}

func (c *seamClaim) Delete(ctx context.Context) error {
	if c.store.Delete != nil {
		return c.store.Delete(ctx, c.Claim)
	}
	return c.Claim.Delete(ctx)
}

func (c *seamClaim) Release() {
	if c.store.Released != nil {
		c.store.Released(c.id)
	}
	c.Claim.Release()
}

// Crashed is what the store of a host that is killed now leaves of a run.
func Crashed(t testing.TB, rec *runstore.Record) *Kept {
	t.Helper()
	s := NewKept()
	claim, err := s.Create(t.Context(), rec, 0)
	if err != nil {
		t.Fatal(err)
	}
	claim.Release()
	return s
}

// Alter changes the record of a run that no host has.
func Alter(t testing.TB, s runstore.Store, id string, change func(*runstore.Record)) {
	t.Helper()
	claim, err := s.Claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	rec, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	change(rec)
	if err := claim.Checkpoint(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
}
