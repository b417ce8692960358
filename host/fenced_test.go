package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

// leasing is a store whose claims end when a test says so, as those of a host do that was
// paused for too long.
type leasing struct {
	runstore.Store
	mu        sync.Mutex
	claims    map[string]runstore.Claim
	beforeGet func()
}

func (s *leasing) note(id string, c runstore.Claim, err error) (runstore.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims == nil {
		s.claims = map[string]runstore.Claim{}
	}
	s.claims[id] = c
	return c, err
}

func (s *leasing) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	c, err := s.Store.Create(ctx, r, max)
	return s.note(r.ID, c, err)
}

func (s *leasing) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := s.Store.Claim(ctx, id)
	return s.note(id, c, err)
}

func (s *leasing) Get(ctx context.Context, id string) (*runstore.Record, error) {
	r, err := s.Store.Get(ctx, id)
	if f := s.beforeGet; f != nil {
		s.beforeGet = nil
		f()
	}
	return r, err
}

// over ends the lease of a run, which its host does not know.
func (s *leasing) over(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[id].Release()
}

// TestAStaleHostWritesNothing: a host whose run was taken over while one of its calls was
// in flight lets go of it. The answer of the call is the other host's business.
func TestAStaleHostWritesNothing(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	stale := &leasing{Store: openDir(t, dir)}
	g := newGate()
	var paid []catalog.Invocation
	tools := []catalog.Tool{g.tool("slow"), counted("pay", &paid)}
	a := start(t, host.Config{Store: stale, Tools: tools})
	b := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
	id := wantWaiting(t, exec(a, `
const slow = tools.slow();
await yield_control();
const status = await slow.then(() => "settled", (e) => e.effectStatus);
await tools.pay({n: 1});
return status`), host.ReasonPendingTools)
	<-g.entered
	stale.over(id)
	wantValue(t, b.Wait(t.Context(), me, id), `"unknown"`)
	close(g.open)
	a.Engine().Quiet(t.Context())
	if r := a.Wait(t.Context(), me, id); r.Status != host.StatusFailed {
		t.Errorf("the stale host: %s", show(r))
	}
	if taken := a.Engine().Taken(); len(taken) != 0 {
		t.Errorf("the stale host still holds %v", taken)
	}
	if len(paid) != 1 {
		t.Errorf("%d payments, want one", len(paid))
	}
}

// TestAStaleHostMakesNoMoreCalls: a program that goes on while its run belongs to another
// host gets no further than to its next call, and its caller is told to wait again.
func TestAStaleHostMakesNoMoreCalls(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	stale := &leasing{Store: openDir(t, dir)}
	var id string
	var paid []catalog.Invocation
	tools := []catalog.Tool{counted("pay", &paid)}
	a := start(t, host.Config{Store: stale, Tools: tools})
	b := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
	id = wantWaiting(t, exec(a, `await yield_control(); return await tools.pay({n: 1})`), host.ReasonYield)
	stale.beforeGet = func() { stale.over(id) }
	wantFailure(t, a.Wait(t.Context(), me, id), host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseInput)
	if len(paid) != 0 {
		t.Fatalf("the stale host made %d calls", len(paid))
	}
	wantValue(t, b.Wait(t.Context(), me, id), `{"n":1}`)
	if len(paid) != 1 {
		t.Errorf("%d payments, want one", len(paid))
	}
}

// TestAStaleHostDeliversNoResult: a program that returns while its run belongs to another
// host has not ended.
func TestAStaleHostDeliversNoResult(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(*host.Host, string) *host.Result{
		"wait":    func(h *host.Host, id string) *host.Result { return h.Wait(context.Background(), me, id) },
		"deliver": func(h *host.Host, id string) *host.Result { return h.Deliver(context.Background(), me, id, 0).Result },
	} {
		t.Run(name, func(t *testing.T) {
			dir := mkdir(t)
			stale := &leasing{Store: openDir(t, dir)}
			a := start(t, host.Config{Store: stale})
			b := start(t, host.Config{Store: openDir(t, dir)})
			id := wantWaiting(t, exec(a, `await yield_control(); return 42`), host.ReasonYield)
			stale.beforeGet = func() { stale.over(id) }
			wantFailure(t, wait(a, id), host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseInput)
			wantValue(t, b.Wait(t.Context(), me, id), `42`)
		})
	}
}

// TestAStaleHostHidesNoResult: a run that another host has ended is not gone before its
// result has arrived, whichever host is asked for it.
func TestAStaleHostHidesNoResult(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	stale := &leasing{Store: openDir(t, dir)}
	g := newGate()
	tools := []catalog.Tool{g.tool("slow")}
	a := start(t, host.Config{Store: stale, Tools: tools})
	b := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
	id := wantWaiting(t, exec(a, `
const slow = tools.slow();
await yield_control();
return await slow.then(() => "settled", (e) => e.effectStatus)`), host.ReasonPendingTools)
	<-g.entered
	defer close(g.open)
	stale.over(id)
	lost := b.Deliver(t.Context(), me, id, 0)
	wantValue(t, lost.Result, `"unknown"`)
	if !lost.Release() {
		t.Fatal("the store does not have the result")
	}
	wantFailure(t, a.Wait(t.Context(), me, id), host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseInput)
	wantValue(t, a.Wait(t.Context(), me, id), `"unknown"`)
}

// uncertain is a store that stores the first record of a run and says that it has not.
type uncertain struct{ runstore.Store }

func (s uncertain) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	c, err := s.Store.Create(ctx, r, max)
	if err == nil {
		c.Release()
		err = errDisk
	}
	return nil, err
}

// TestARunWhoseFirstRecordIsUncertainEnds: its caller is told that it has failed, so no
// other host may go on with it.
func TestARunWhoseFirstRecordIsUncertainEnds(t *testing.T) {
	t.Parallel()
	store := openDir(t, mkdir(t))
	h := start(t, host.Config{Store: uncertain{store}})
	wantFailure(t, exec(h, `await yield_control(); return 1`), host.CodeUnavailable, host.ReasonStoreFailed, host.PhaseHost)
	if list, err := store.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the store has %v, %v", list, err)
	}
}

// TestCallsCarryTheEpoch: a tool can tell a host that has lost a run from the one that
// has it, and attempts of one call from other calls.
func TestCallsCarryTheEpoch(t *testing.T) {
	t.Parallel()
	dir, g := mkdir(t), newGate()
	slow := g.tool("slow")
	slow.Idempotent = true
	var paid []catalog.Invocation
	tools := []catalog.Tool{slow, counted("pay", &paid)}
	stale := &leasing{Store: openDir(t, dir)}
	a := start(t, host.Config{Store: stale, Tools: tools})
	b := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
	id := wantWaiting(t, exec(a, `
await tools.pay({n: 1});
const slow = tools.slow();
await yield_control();
await slow;
return await tools.pay({n: 2})`), host.ReasonPendingTools)
	first := <-g.entered
	stale.over(id)
	done := make(chan *host.Result, 1)
	go func() { done <- b.Wait(context.Background(), me, id) }()
	second := <-g.entered
	close(g.open)
	wantValue(t, <-done, `{"n":2}`)
	if first.IdempotencyKey != second.IdempotencyKey || first.Epoch != 1 || second.Epoch <= first.Epoch {
		t.Errorf("the attempts have the keys %s and %s, the epochs %d and %d", first.IdempotencyKey, second.IdempotencyKey, first.Epoch, second.Epoch)
	}
	if len(paid) != 2 || paid[0].Epoch != 0 || paid[1].Epoch != second.Epoch || paid[0].IdempotencyKey == paid[1].IdempotencyKey {
		t.Errorf("the payments are %+v", paid)
	}
}

// lapsed is a store whose claims hold only once they were renewed.
type lapsed struct {
	runstore.Store
	renew func() error
}

type lapsedClaim struct {
	runstore.Claim
	store *lapsed
	held  atomic.Bool
}

func (s *lapsed) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	c, err := s.Store.Create(ctx, r, max)
	return &lapsedClaim{Claim: c, store: s}, err
}

func (s *lapsed) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := s.Store.Claim(ctx, id)
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

// TestALapsedHostStartsNoCall of a stored run until it has renewed its lease, and none at all
// of a run that was taken over meanwhile.
func TestALapsedHostStartsNoCall(t *testing.T) {
	t.Parallel()
	for name, renewed := range map[string]error{"renewed": nil, "taken over": runstore.ErrFenced} {
		t.Run(name, func(t *testing.T) {
			var paid []catalog.Invocation
			renews := 0
			store := &lapsed{Store: openDir(t, mkdir(t))}
			store.renew = func() error {
				if renews++; len(paid) > 0 {
					t.Error("the call was made without a lease")
				}
				return renewed
			}
			h := start(t, host.Config{Store: store, Tools: []catalog.Tool{counted("pay", &paid)}})
			id := wantWaiting(t, exec(h, `await yield_control(); await tools.pay({n: 1}); return await tools.pay({n: 2})`), host.ReasonYield)
			r := h.Wait(t.Context(), me, id)
			if renewed != nil {
				wantFailure(t, r, host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseInput)
			} else {
				wantValue(t, r, `{"n":2}`)
			}
			if want := map[bool]int{true: 2}[renewed == nil]; renews != 1 || len(paid) != want {
				t.Errorf("%d renewals, %d calls, want 1 and %d", renews, len(paid), want)
			}
		})
	}
}

// fencing is a store whose claims and journals of effects are over as soon as they are made.
// It counts the writes that it refuses.
type fencing struct {
	*runstore.Dir
	refused atomic.Int64
}

func (s *fencing) refuse() error {
	s.refused.Add(1)
	return runstore.ErrFenced
}

func (s *fencing) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := s.Dir.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	return &fencedClaim{c, s}, nil
}

func (s *fencing) OpenEffects(ctx context.Context, id string, header *runstore.Effects) (runstore.EffectJournal, error) {
	j, err := s.Dir.OpenEffects(ctx, id, header)
	if err != nil {
		return nil, err
	}
	return &fencedEffects{j, s}, nil
}

type fencedClaim struct {
	runstore.Claim
	store *fencing
}

func (c *fencedClaim) Delete(context.Context) error { return c.store.refuse() }

type fencedEffects struct {
	runstore.EffectJournal
	store *fencing
}

func (j *fencedEffects) Put(bool, ...runstore.Effect) error { return j.store.refuse() }

// TestFencedWritesAreCounted, whatever it is that writes.
func TestFencedWritesAreCounted(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(t *testing.T, live, stale *host.Host){
		"the end of a run that was aborted": func(t *testing.T, live, stale *host.Host) {
			id := wantWaiting(t, exec(live, `await yield_control()`), host.ReasonYield)
			if r := stale.Abort(t.Context(), me, id); r.Status != host.StatusFailed {
				t.Errorf("aborted: %s", show(r))
			}
		},
		"a result that was delivered": func(t *testing.T, live, stale *host.Host) {
			id := wantWaiting(t, exec(live, `await yield_control(); return 42`), host.ReasonYield)
			d := stale.Deliver(t.Context(), me, id, 0)
			wantValue(t, d.Result, `42`)
			d.Done()
		},
		"an effect": func(_ *testing.T, _, stale *host.Host) {
			exec(stale, `await tools.put({name: "a", value: "1"})`)
		},
		"an effect that is undone": func(t *testing.T, live, stale *host.Host) {
			id := wantWaiting(t, exec(live, `await tools.put({name: "a", value: "1"}); await yield_control(); return 1`), host.ReasonYield)
			wantValue(t, live.Wait(t.Context(), me, id), `1`)
			if _, err := stale.Undo(t.Context(), me, id, host.UndoOptions{}); err == nil {
				t.Error("it was undone")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, tools := mkdir(t), newShelf(mkdir(t)).tools()
			store, err := runstore.OpenDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			fencing := &fencing{Dir: store}
			stale := start(t, host.Config{Store: fencing, Tools: tools})
			write(t, start(t, host.Config{Store: openDir(t, dir), Tools: tools}), stale)
			refused := fencing.refused.Load()
			if refused == 0 {
				t.Fatal("no write was refused")
			}
			want := fmt.Sprintf("# HELP quoin_store_writes_fenced_total Writes of runs that the store refused because another host had taken the run over.\n"+
				"# TYPE quoin_store_writes_fenced_total counter\nquoin_store_writes_fenced_total %d\n", refused)
			if err := testutil.GatherAndCompare(stale.Metrics(), strings.NewReader(want), "quoin_store_writes_fenced_total"); err != nil {
				t.Error(err)
			}
		})
	}
}
