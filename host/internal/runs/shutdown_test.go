package runs_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/runstore"
)

// shutting shuts a host down as Host.Shutdown does, on another goroutine.
func shutting(ctx context.Context, h *Host) (over <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.LetFinish(ctx)
		h.Shut()
	}()
	return done
}

// briefDrain has a host give calls in flight no time when it closes.
func briefDrain(c *run.Config) { c.DrainTimeout = time.Millisecond }

func wantClosing(t *testing.T, r *codemode.Result) {
	t.Helper()
	WantFailure(t, r, codemode.CodeUnavailable, "", codemode.PhaseHost)
}

// callsSlow is a program that waits for a tool.
func callsSlow(g *Guest) any { return g.Call("slow", nil) }

func one(*Guest) any { return 1 }

// TestShutdownParksRuns: programs that wait are parked, their callers are told, and the next
// host resumes them. New work is refused.
func TestShutdownParksRuns(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		tool := slow.Tool("slow")
		tool.ReadOnly = true
		s := Setup{Store: NewKept(), Tools: []catalog.Tool{tool}, Config: briefDrain}
		first := Start(t, s)
		fresh := first.Go(func(g *Guest) any {
			g.Text("fresh")
			return callsSlow(g)
		})
		<-slow.Entered
		id := WantWaiting(t, first.Run(func(g *Guest) any {
			g.Yield()
			g.Text("resumed")
			return callsSlow(g)
		}), codemode.ReasonYield)
		resumed := Later(func() *codemode.Result { return first.Resume(id) })
		<-slow.Entered
		WantTook(t, time.Millisecond, func() { <-shutting(t.Context(), first) })
		wantClosing(t, first.Run(one))
		wantClosing(t, first.Resume(id))
		close(slow.Open)
		second := Start(t, s)
		for want, results := range map[string]<-chan *codemode.Result{"fresh": fresh, "resumed": resumed} {
			r := <-results
			id := WantWaiting(t, r, codemode.ReasonPendingTools)
			WantTexts(t, r, want)
			if len(r.PendingToolCalls) != 1 {
				t.Errorf("got %s", Show(r))
			}
			r = second.Resume(id)
			WantValue(t, r, `"through"`)
			WantTexts(t, r)
		}
	})
}

// TestShutdownAbortsWhatDoesNotWait: a program that computes has until ctx ends.
func TestShutdownAbortsWhatDoesNotWait(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Store: NewKept()})
		done := h.Go(func(g *Guest) any {
			g.Compute(time.Hour)
			return nil
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		WantTook(t, time.Second, func() { <-shutting(ctx, h) })
		WantFailure(t, <-done, codemode.CodeAborted, "", codemode.PhaseHost)
	})
}

// TestShutdownWithoutAStoreLetsProgramsEnd: there is nowhere to park them.
func TestShutdownWithoutAStoreLetsProgramsEnd(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{Tools: []catalog.Tool{slow.Tool("slow")}})
		done := h.Go(callsSlow)
		<-slow.Entered
		over := shutting(t.Context(), h)
		synctest.Wait()
		wantClosing(t, h.Run(one))
		close(slow.Open)
		<-over
		WantValue(t, <-done, `"through"`)
	})
}

// TestShutdownFreesCellsThatWaitForAWorker: they have not started.
func TestShutdownFreesCellsThatWaitForAWorker(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{MaxWorkers: 1, Store: NewKept()})
		ctx, cancel := context.WithCancel(t.Context())
		spinning := Later(func() *codemode.Result {
			return h.RunIn(ctx, run.Input{}, func(g *Guest) any {
				g.Compute(time.Second)
				return nil
			})
		})
		synctest.Wait()
		queued := h.Go(one)
		synctest.Wait()
		over := shutting(t.Context(), h)
		WantTook(t, 0, func() { wantClosing(t, <-queued) })
		cancel()
		<-over
		<-spinning
	})
}

// TestRunsOfASession: the runs that the store has, that are parked and that run are listed, of a
// session or of a turn, and end with their session. Runs of others stay.
func TestRunsOfASession(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		s := Setup{Store: NewKept(), Tools: []catalog.Tool{slow.Tool("slow")}}
		first := Start(t, s)
		stored := WantWaiting(t, first.Run(yields), codemode.ReasonYield)
		first.Shut()
		h := Start(t, s)
		other, stranger := Me, codemode.Session{SessionID: "stranger"}
		other.TurnID = "another turn"
		time.Sleep(time.Second) // lists are in the order of time
		parked := WantWaiting(t, h.Exec(t.Context(), other, run.Input{Code: Source(func(g *Guest) any {
			g.Go("slow", nil)
			g.Yield()
			return nil
		})}), codemode.ReasonPendingTools)
		foreign := WantWaiting(t, h.Exec(t.Context(), stranger, run.Input{Code: Source(yields)}), codemode.ReasonYield)
		time.Sleep(time.Second)
		running := h.Go(callsSlow)
		<-slow.Entered
		<-slow.Entered

		list := func(s codemode.Session) []codemode.RunInfo {
			t.Helper()
			runs, err := h.Runs(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			return runs
		}
		session := Me
		session.TurnID = ""
		all := list(session)
		if len(all) != 3 || all[0].ID != stored || all[1].ID != parked {
			t.Fatalf("got %+v, want the stored, the parked and the running one", all)
		}
		if i := all[0]; i.Status != codemode.RunWaiting || i.Reason != codemode.ReasonYield || i.Expires.IsZero() || len(i.PendingToolCalls) != 1 || i.Session != Me || i.Language != "javascript" {
			t.Errorf("stored: %+v", i)
		}
		if i := all[1]; i.Status != codemode.RunWaiting || i.Reason != codemode.ReasonPendingTools || i.Expires.IsZero() || len(i.PendingToolCalls) != 2 || i.Session != other {
			t.Errorf("parked: %+v", i)
		}
		if i := all[2]; i.Status != codemode.RunRunning || i.Reason != "" || !i.Expires.IsZero() || len(i.PendingToolCalls) != 1 {
			t.Errorf("running: %+v", i)
		}
		if turn := list(other); len(turn) != 1 || turn[0].ID != parked {
			t.Errorf("of one turn: %+v", turn)
		}

		n, err := h.EndSession(t.Context(), session)
		if err != nil || n != 3 {
			t.Errorf("EndSession = %d, %v; want 3 ended", n, err)
		}
		WantFailure(t, <-running, codemode.CodeAborted, "", codemode.PhaseHost)
		<-slow.Ended
		<-slow.Ended // the calls of the parked and of the running one
		if left := list(session); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
		for _, id := range []string{stored, parked} {
			if _, err := s.Store.Get(t.Context(), id); err != runstore.ErrNotFound {
				t.Errorf("the store has %s: %v", id, err)
			}
		}
		WantValue(t, h.Wait(t.Context(), stranger, foreign, 0), `2`)
	})
}

// muted is a store of several hosts that does not take a wake-up.
type muted struct {
	*Seam
	runstore.Shared // a part that no test asks

	mu     sync.Mutex
	woken  int
	bounds map[time.Time]bool // of the wake-ups
}

func (s *muted) Wake(ctx context.Context, _ string) error {
	end, _ := ctx.Deadline()
	s.mu.Lock()
	s.woken++
	s.bounds[end] = true
	s.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (*muted) Due(context.Context, int) ([]string, error) { return nil, nil }
func (*muted) Watch(ctx context.Context) <-chan string    { return nil }

// TestCloseOfManyRunsHasOneBound: the store of a host does not answer. The host tells the
// other hosts of all its runs in the time of one run.
func TestCloseOfManyRunsHasOneBound(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		const runs = 40
		released, slow := 0, NewGate()
		store := &muted{Seam: &Seam{Store: NewKept()}, bounds: map[time.Time]bool{}}
		h := Start(t, Setup{Store: store, Settings: codemode.Settings{MaxSuspended: 4 * runs}, Tools: []catalog.Tool{slow.Tool("slow")}, Config: briefDrain})
		for range runs {
			WantWaiting(t, h.RunFor(time.Second, callsSlow), codemode.ReasonPendingTools)
		}
		store.Released = func(string) {
			store.mu.Lock()
			defer store.mu.Unlock()
			released++
		}
		WantTook(t, timing.Defaults.LastWakesTimeout+time.Millisecond, h.Shut)
		if store.woken != runs || len(store.bounds) != 1 {
			t.Errorf("%d wake-ups with %d bounds, want %d with one", store.woken, len(store.bounds), runs)
		}
		if released != runs {
			t.Errorf("%d of %d claims were released", released, runs)
		}
	})
}
