package host_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// errDisk is how a faulty store fails.
var errDisk = errors.New("input/output error")

// faultyStore is a store on a disk that fails in the middle of a run.
type faultyStore struct {
	runstore.Store
	checkpoints atomic.Int32 // so many of them fail
	answers     atomic.Bool  // set: these writes fail
	// beforeClaim, unless it is nil, is what happens between the first look at a run
	// and the claim of it.
	beforeClaim func()
}

func (s *faultyStore) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s *faultyStore) checkpoint(ctx context.Context, claim runstore.Claim, r *runstore.Record) error {
	if s.checkpoints.Add(-1) >= 0 {
		return errDisk
	}
	return claim.Checkpoint(ctx, r)
}

func (s *faultyStore) putCalls(ctx context.Context, claim runstore.Claim, generation uint64, calls []runstore.Call) error {
	if s.answers.Load() {
		return errDisk
	}
	return claim.PutCalls(ctx, generation, calls)
}

func (s *faultyStore) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	if s.beforeClaim != nil {
		s.beforeClaim()
	}
	return through(s)(s.Store.Claim(ctx, id))
}

// through puts the claims of a store behind the hooks of a test: what is called in the
// place of a write, with the claim to make it with.
func through(hooks any) func(runstore.Claim, error) (runstore.Claim, error) {
	return func(c runstore.Claim, err error) (runstore.Claim, error) {
		if err != nil {
			return nil, err
		}
		return &hookedClaim{c, hooks}, nil
	}
}

type hookedClaim struct {
	runstore.Claim
	hooks any
}

func (c *hookedClaim) Checkpoint(ctx context.Context, r *runstore.Record) error {
	if h, ok := c.hooks.(interface {
		checkpoint(context.Context, runstore.Claim, *runstore.Record) error
	}); ok {
		return h.checkpoint(ctx, c.Claim, r)
	}
	return c.Claim.Checkpoint(ctx, r)
}

func (c *hookedClaim) PutCalls(ctx context.Context, generation uint64, calls []runstore.Call) error {
	if h, ok := c.hooks.(interface {
		putCalls(context.Context, runstore.Claim, uint64, []runstore.Call) error
	}); ok {
		return h.putCalls(ctx, c.Claim, generation, calls)
	}
	return c.Claim.PutCalls(ctx, generation, calls)
}

func (c *hookedClaim) Delete(ctx context.Context) error {
	if h, ok := c.hooks.(interface {
		remove(context.Context, runstore.Claim) error
	}); ok {
		return h.remove(ctx, c.Claim)
	}
	return c.Claim.Delete(ctx)
}

// doneTold is a context that tells once that something waits for its end.
type doneTold struct {
	context.Context
	waits func()
}

func (c *doneTold) Done() <-chan struct{} {
	c.waits()
	return c.Context.Done()
}

// TestARunThatIsTakenIsNotAborted: an abort cancels a run here, but by then another host has
// the claim. Neither the abort nor the wait says that the run was aborted: it continues at the
// other host.
func TestARunThatIsTakenIsNotAborted(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	store := &faultyStore{Store: openState(t, dir)}
	h := start(t, host.Config{Store: store})
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
	taken, err := openState(t, dir).Claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	aborted := make(chan *host.Result, 1)
	store.beforeClaim = func() {
		store.beforeClaim = nil
		cancelled := make(chan struct{})
		ctx := &doneTold{t.Context(), sync.OnceFunc(func() { close(cancelled) })}
		go func() { aborted <- h.Abort(ctx, me, id) }()
		<-cancelled // and the abort waits for the driver
	}
	wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
	wantFailure(t, <-aborted, codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
	taken.Release()
	wantValue(t, h.Wait(t.Context(), me, id), `1`)
}
