package host_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
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
// gone, also if that Wait cannot resume it. The abort returns.
func TestAnAbortBesideAWaitThatFails(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]error{
		"the store fails":                errDisk,
		"the run ended in another host":  runstore.ErrEnded,
		"the run is not there any more":  runstore.ErrNotFound,
		"the run has expired in between": runstore.ErrExpired,
	} {
		t.Run(name, func(t *testing.T) {
			store := &trapStore{Store: openDir(t, mkdir(t))}
			h := start(t, host.Config{Store: store})
			id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
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
				wantFailure(t, r, codemode.CodeAborted, "", codemode.PhaseHost)
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
	t.Parallel()
	boom := func() error { panic("the store panics") }
	t.Run("in a wait", func(t *testing.T) {
		store := &trapStore{Store: openDir(t, mkdir(t))}
		h := start(t, host.Config{Store: store})
		id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
		store.next(boom)
		wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInternal, "", codemode.PhaseHost)
		wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
		if taken := h.Engine().Taken(); len(taken) != 0 {
			t.Errorf("the host still holds %v", taken)
		}
	})
	t.Run("at its end", func(t *testing.T) {
		store := &trapStore{Store: openDir(t, mkdir(t))}
		h := start(t, host.Config{Store: store})
		id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
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
		id := wantWaiting(t, exec(first, `const slow = tools.slow(); await yield_control(); return await slow`), codemode.ReasonPendingTools)
		<-g.entered
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		h := start(t, host.Config{Store: journalPanics{openDir(t, dir)}, Tools: tools})
		wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInternal, "", codemode.PhaseHost)
		wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	})
}

// journalPanics is a store that panics when the journal of a run is written.
type journalPanics struct{ runstore.Store }

func (s journalPanics) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s journalPanics) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(s)(s.Store.Claim(ctx, id))
}

func (journalPanics) putCalls(context.Context, runstore.Claim, uint64, []runstore.Call) error {
	panic("the store panics")
}

// TestAWaitThatFailsBesideCloseKeepsTheRun: a run that a Wait could not take up, while
// its host closed, is there for the next host.
func TestAWaitThatFailsBesideCloseKeepsTheRun(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	store := &trapStore{Store: openDir(t, dir)}
	h := start(t, host.Config{Store: store})
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
	closed := make(chan error, 1)
	store.next(func() error {
		go func() { closed <- h.Close() }()
		h.Engine().Aborted(id)
		return errDisk
	})
	if r := h.Wait(t.Context(), me, id); r.Status != host.StatusFailed {
		t.Errorf("the wait: %s", show(r))
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	next := start(t, host.Config{Store: openDir(t, dir)})
	wantValue(t, next.Wait(t.Context(), me, id), `1`)
}

// claimPanics is a store. Once it is armed, its next claim panics.
type claimPanics struct {
	runstore.Store
	armed atomic.Bool
}

func (s *claimPanics) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	if s.armed.Swap(false) {
		panic("the store panics")
	}
	return s.Store.Claim(ctx, id)
}

// TestAnAbortWhoseStorePanicsLeavesNoRunActive: the run ends, and a second abort
// returns.
func TestAnAbortWhoseStorePanicsLeavesNoRunActive(t *testing.T) {
	t.Parallel()
	store := &claimPanics{Store: openDir(t, mkdir(t))}
	h := start(t, host.Config{Store: store})
	id := wantWaiting(t, exec(h, `await yield_control(); return 1`), codemode.ReasonYield)
	store.armed.Store(true)
	wantFailure(t, h.Abort(t.Context(), me, id), codemode.CodeInternal, "", codemode.PhaseHost)
	wantFailure(t, h.Abort(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	if taken := h.Engine().Taken(); len(taken) != 0 {
		t.Errorf("the host still holds %v", taken)
	}
}

// slowJournal is a store that keeps the first journal of a run waiting.
type slowJournal struct {
	runstore.Store
	once             *sync.Once
	entered, release chan struct{}
}

func (s slowJournal) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(s)(s.Store.Create(ctx, r, max))
}

func (s slowJournal) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(s)(s.Store.Claim(ctx, id))
}

func (s slowJournal) putCalls(ctx context.Context, claim runstore.Claim, generation uint64, calls []runstore.Call) error {
	s.once.Do(func() {
		s.entered <- struct{}{}
		<-s.release
	})
	return claim.PutCalls(ctx, generation, calls)
}

// TestAnAnswerBesideCloseKeepsTheRun: a run that an answer loads while its host closes
// is there for the next host.
func TestAnAnswerBesideCloseKeepsTheRun(t *testing.T) {
	t.Parallel()
	dir, g := mkdir(t), newGate()
	tools := []catalog.Tool{g.tool("slow")}
	first := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
	r := first.Exec(t.Context(), me, host.ExecInput{
		Code:  `tools.slow().catch(() => 0); return await tools.ask({})`,
		Tools: []catalog.Tool{{Name: "ask", Description: "Asks."}},
	})
	<-g.entered
	call := ""
	for _, c := range r.PendingToolCalls {
		if c.Input != nil {
			call = c.ID
		}
	}
	if r.Status != host.StatusWaiting || call == "" {
		t.Fatalf("not waiting for an answer: %s", show(r))
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	store := slowJournal{openDir(t, dir), new(sync.Once), make(chan struct{}), make(chan struct{})}
	h := start(t, host.Config{Store: store, Tools: tools})
	answered, closed := make(chan error, 1), make(chan error, 1)
	go func() { answered <- h.Answer(t.Context(), me, r.RunID, call, host.ToolAnswer{Value: []byte(`2`)}) }()
	<-store.entered
	go func() { closed <- h.Close() }()
	for h.Running() {
		runtime.Gosched()
	}
	close(store.release)
	<-answered // either way
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	next := openDir(t, dir)
	if _, err := next.Get(t.Context(), r.RunID); err != nil {
		t.Errorf("the run is gone: %v", err)
	}
}
