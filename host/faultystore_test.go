package host_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
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

func (c *hookedClaim) End(ctx context.Context, e *runstore.Ended) error {
	if h, ok := c.hooks.(interface {
		end(context.Context, runstore.Claim, *runstore.Ended) error
	}); ok {
		return h.end(ctx, c.Claim, e)
	}
	return c.Claim.End(ctx, e)
}

func (c *hookedClaim) Delete(ctx context.Context) error {
	if h, ok := c.hooks.(interface {
		remove(context.Context, runstore.Claim) error
	}); ok {
		return h.remove(ctx, c.Claim)
	}
	return c.Claim.Delete(ctx)
}

// TestCallsOfAResumedRunNeedACheckpoint: a call that the store does not know of is
// not made, or a host that finds the run after a crash would make it again. Nor is the
// program told so: the run goes on later from what the store has.
func TestCallsOfAResumedRunNeedACheckpoint(t *testing.T) {
	t.Parallel()
	store := &faultyStore{Store: openDir(t, mkdir(t))}
	var calls []catalog.Invocation
	h := start(t, host.Config{Store: store, Tools: []catalog.Tool{counted("pay", &calls)}})
	id := wantWaiting(t, exec(h, `await yield_control(); return await tools.pay({n: 1})`), host.ReasonYield)
	store.checkpoints.Store(1)
	wantKept(t, h.Wait(t.Context(), me, id))
	if len(calls) != 0 {
		t.Fatalf("%d calls that were not recorded", len(calls))
	}
	wantValue(t, h.Wait(t.Context(), me, id), `{"n":1}`)
	if len(calls) != 1 {
		t.Errorf("%d calls, want the one that was recorded", len(calls))
	}
}

// TestCallsWithoutASlotNeedACheckpoint: the turn that makes them may or may not be stored. The
// run does not go on here as if it were.
func TestCallsWithoutASlotNeedACheckpoint(t *testing.T) {
	t.Parallel()
	store := &faultyStore{Store: openDir(t, mkdir(t))}
	g := newGate()
	slow := g.tool("slow")
	slow.Idempotent = true
	var calls []catalog.Invocation
	h := start(t, host.Config{Store: store, Settings: host.Settings{MaxPendingCalls: 1}, Tools: []catalog.Tool{slow, counted("pay", &calls)}})
	id := wantWaiting(t, exec(h, `const slow = tools.slow(); await yield_control(); const pay = tools.pay({n: 1}); return [await slow, await pay]`), host.ReasonPendingTools)
	<-g.entered
	store.checkpoints.Store(1)
	wantKept(t, h.Wait(t.Context(), me, id))
	close(g.open)
	wantValue(t, h.Wait(t.Context(), me, id), `["through",{"n":1}]`)
	if len(calls) != 1 {
		t.Errorf("%d calls, want one", len(calls))
	}
}

// TestQueuedCallsNeedTheJournal: the slot of a call that settles goes to the next,
// which is not made if the store could not be told. The run goes on from what the store has.
func TestQueuedCallsNeedTheJournal(t *testing.T) {
	t.Parallel()
	store := &faultyStore{Store: openDir(t, mkdir(t))}
	g := newGate()
	var calls []catalog.Invocation
	h := start(t, host.Config{
		Store: store, Settings: host.Settings{MaxPendingCalls: 1},
		Tools: []catalog.Tool{g.tool("slow"), counted("pay", &calls)},
	})
	id := wantWaiting(t, exec(h, `const slow = tools.slow(), pay = tools.pay({n: 1})
		await yield_control()
		return [await slow.catch((e) => e.effectStatus), await pay]`), host.ReasonPendingTools)
	<-g.entered
	store.answers.Store(true)
	close(g.open)
	h.Engine().Quiet(t.Context())
	if len(calls) != 0 {
		t.Errorf("a call was made of which the store did not know")
	}
	store.answers.Store(false)
	wantValue(t, h.Wait(t.Context(), me, id), `["unknown",{"n":1}]`)
	if len(calls) != 1 {
		t.Errorf("%d calls, want one", len(calls))
	}
}

// TestAnAnswerNeedsTheJournal: an answer that the store may not have is not given to the
// program, although no other call waits for its slot: the program would see another one
// after the end of this host. The run goes on from what the store has.
func TestAnAnswerNeedsTheJournal(t *testing.T) {
	t.Parallel()
	store := &faultyStore{Store: openDir(t, mkdir(t))}
	g := newGate()
	h := start(t, host.Config{Store: store, Tools: []catalog.Tool{g.tool("slow")}})
	id := wantWaiting(t, exec(h, `const slow = tools.slow().catch((e) => e.effectStatus)
		await yield_control()
		return await slow`), host.ReasonPendingTools)
	<-g.entered
	store.answers.Store(true)
	close(g.open)
	h.Engine().Quiet(t.Context())
	store.answers.Store(false)
	wantValue(t, h.Wait(t.Context(), me, id), `"unknown"`)
}

// forgetful is a store that loses, once, the answers that it has taken.
type forgetful struct {
	runstore.Store
	mu    sync.Mutex
	loses bool
	taken chan []uint64 // the calls of each write
}

func (s *forgetful) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s *forgetful) putCalls(ctx context.Context, claim runstore.Claim, generation uint64, calls []runstore.Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loses {
		s.loses = false
		return runstore.ErrCallsLost
	}
	var ids []uint64
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	err := claim.PutCalls(ctx, generation, calls)
	s.taken <- ids
	return err
}

// TestAnswersThatTheStoreHasLost are put again with the next one: another host would go on
// without them.
func TestAnswersThatTheStoreHasLost(t *testing.T) {
	t.Parallel()
	store := &forgetful{Store: openDir(t, mkdir(t)), taken: make(chan []uint64, 10)}
	one, other := newGate(), newGate()
	h := start(t, host.Config{Store: store, Tools: []catalog.Tool{one.tool("one"), other.tool("other")}})
	id := wantWaiting(t, exec(h, `const a = tools.one(), b = tools.other(); await yield_control(); return [await a, await b]`), host.ReasonPendingTools)
	<-one.entered
	<-other.entered
	close(one.open)
	<-store.taken
	store.mu.Lock()
	store.loses = true
	store.mu.Unlock()
	close(other.open)
	if calls := <-store.taken; len(calls) != 2 {
		t.Errorf("put again were the calls %v, want both", calls)
	}
	wantValue(t, h.Wait(t.Context(), me, id), `["through","through"]`)
}

// TestAnApprovedCallNeedsTheJournal: in the store it still waits for a person, so
// the next host would make it again.
func TestAnApprovedCallNeedsTheJournal(t *testing.T) {
	t.Parallel()
	store := &faultyStore{Store: openDir(t, mkdir(t))}
	desk := newDesk()
	var calls []catalog.Invocation
	cfg := desk.config([]catalog.Tool{counted("echo", &calls)}, asks(policy.ApprovalRequest{}, "echo"))
	cfg.Store = store
	h := start(t, cfg)
	id := wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: refused}), host.ReasonApproval)
	store.answers.Store(true)
	decide(t, h, (<-desk.asked).ID, policy.AllowOnce)
	h.Engine().Quiet(t.Context())
	if len(calls) != 0 {
		t.Errorf("a call was made of which the store did not know")
	}
	store.answers.Store(false)
	wantValue(t, h.Wait(t.Context(), me, id), `{"n":1}`)
	if len(calls) != 1 {
		t.Errorf("%d calls, want one", len(calls))
	}
}

// TestARunThatAnotherHostWentOnWith between the look at it and the claim: it goes on
// from where that host left it, if it left anything.
func TestARunThatAnotherHostWentOnWith(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code  string
		check func(*testing.T, *host.Result)
	}{
		"and ended": {`await yield_control(); return await tools.pay({n: 1})`, func(t *testing.T, r *host.Result) {
			wantFailure(t, r, host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseInput)
		}},
		"and suspended again": {`await yield_control(); const paid = await tools.pay({n: 1}); await yield_control(); return paid`, func(t *testing.T, r *host.Result) {
			wantValue(t, r, `{"n":1}`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mkdir(t)
			var calls []catalog.Invocation
			tools := []catalog.Tool{counted("pay", &calls)}
			first := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
			id := wantWaiting(t, exec(first, tc.code), host.ReasonYield)
			store := &faultyStore{Store: openDir(t, dir)}
			store.beforeClaim = func() {
				store.beforeClaim = nil
				if r := first.Wait(t.Context(), me, id); r.Status == host.StatusFailed {
					t.Errorf("the other host: %s", show(r))
				}
			}
			second := start(t, host.Config{Store: store, Tools: tools})
			tc.check(t, second.Wait(t.Context(), me, id))
			if len(calls) != 1 {
				t.Errorf("%d calls, want one", len(calls))
			}
		})
	}
}

// TestARunThatIsMovedIsNotAborted: a move to another store starts between the look at the run
// and the claim of it. The abort is refused, or the copy would outlive it.
func TestARunThatIsMovedIsNotAborted(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	first := start(t, host.Config{Store: openDir(t, dir)})
	id := wantWaiting(t, exec(first, `await yield_control(); return 1`), host.ReasonYield)
	moved := openDir(t, dir)
	store := &faultyStore{Store: openDir(t, dir)}
	store.beforeClaim = func() {
		store.beforeClaim = nil
		claim, err := moved.Claim(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		defer claim.Release()
		rec, err := moved.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		rec.Moving, rec.Generation = "to another store", rec.Generation+1
		if err := claim.Checkpoint(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	second := start(t, host.Config{Store: store})
	wantFailure(t, second.Abort(t.Context(), me, id), host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseHost)
	if _, err := moved.Get(t.Context(), id); err != nil {
		t.Errorf("the run on its way: %v", err)
	}
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

// TestARunThatIsTakenIsNotAborted: an abort has cancelled a run here whose claim another host
// has by then. Neither the abort nor the wait says that the run was aborted: it goes on there.
func TestARunThatIsTakenIsNotAborted(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	store := &faultyStore{Store: openDir(t, dir)}
	h := start(t, host.Config{Store: store})
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), host.ReasonYield)
	taken, err := openDir(t, dir).Claim(t.Context(), id)
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
	wantFailure(t, h.Wait(t.Context(), me, id), host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseInput)
	wantFailure(t, <-aborted, host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseInput)
	taken.Release()
	wantValue(t, h.Wait(t.Context(), me, id), `1`)
}

// TestDispatchedSurvivesTheHost: the call was made while the run was suspended, and
// its answer is all that the next host knows of it. A result that said otherwise
// would invite a repeat.
func TestDispatchedSurvivesTheHost(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	g := newGate()
	cfg := func() host.Config {
		return host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{g.tool("slow")}}
	}
	first := start(t, cfg())
	id := wantWaiting(t, exec(first, `const slow = tools.slow(); await yield_control(); throw new Error(await slow)`), host.ReasonPendingTools)
	<-g.entered
	close(g.open)
	first.Engine().Quiet(t.Context())
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	r := start(t, cfg()).Wait(t.Context(), me, id)
	wantFailure(t, r, host.CodeInternal, host.ReasonGuestException, host.PhaseGuest)
	if !r.Dispatched {
		t.Errorf("a tool was called, but the result says that none was: %s", show(r))
	}
}
