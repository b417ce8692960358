package drive_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/runstore"
)

// yields is a program that yields and returns a number.
func yields(g *Guest) any {
	g.Yield()
	return 42
}

// TestAYieldedProgramGoesOn where it was, and each result has what was put out since the last.
func TestAYieldedProgramGoesOn(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: []catalog.Tool{Echo("echo")}})
		r := h.Run(func(g *Guest) any {
			kept := g.Call("echo", N(1))
			g.Text("before")
			g.Yield()
			g.Text("after")
			return kept
		})
		id := WantWaiting(t, r, codemode.ReasonYield)
		WantTexts(t, r, "before")
		if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Method != "yield" || r.Telemetry.SnapshotBytes == 0 {
			t.Errorf("got %s", Show(r))
		}
		r = h.Resume(id)
		WantValue(t, r, `{"n":1}`)
		WantTexts(t, r, "after")
		WantFailure(t, h.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	})
}

// TestARunKeepsItsIDOverManyYields.
func TestARunKeepsItsIDOverManyYields(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{})
		r := h.Run(func(g *Guest) any {
			sum := 0
			for i := range 20 {
				g.Yield()
				sum += i
			}
			return sum
		})
		id := r.RunID
		for range 20 {
			if got := WantWaiting(t, r, codemode.ReasonYield); got != id {
				t.Fatalf("run id changed from %s to %s", id, got)
			}
			r = h.Resume(id)
		}
		WantValue(t, r, `190`)
	})
}

// TestACallerWhoseTimeIsOverLearnsWhatIsPending: the run waits as it did, however often, and
// continues once the tool answers.
func TestACallerWhoseTimeIsOverLearnsWhatIsPending(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{Tools: []catalog.Tool{slow.Tool("slow"), Echo("echo")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			quick := g.Call("echo", N(1))
			g.Yield()
			return []any{quick, g.Call("slow", nil)}
		}), codemode.ReasonYield)
		for range 2 {
			WantTook(t, time.Minute, func() {
				r := h.ResumeFor(id, time.Minute)
				WantWaiting(t, r, codemode.ReasonPendingTools)
				if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Tool != "quoin:core:slow" {
					t.Errorf("pending calls: %+v", r.PendingToolCalls)
				}
			})
		}
		close(slow.Open)
		WantValue(t, h.Resume(id), `[{"n":1},"through"]`)
		if n := len(slow.Entered); n != 1 {
			t.Errorf("the tool was called %d times", n)
		}
	})
}

// TestOneAnswerIsEnough: one answer is enough for a wait to continue.
func TestOneAnswerIsEnough(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		one, two := NewGate(), NewGate()
		h := Start(t, Setup{Tools: []catalog.Tool{one.Tool("one"), two.Tool("two")}})
		r := h.RunFor(time.Second, func(g *Guest) any {
			a, b := g.Go("one", nil), g.Go("two", nil)
			g.Text("first: " + string(g.Race(a, b).Value()))
			g.Yield()
			return []any{a.Value(), b.Value()}
		})
		id := WantWaiting(t, r, codemode.ReasonPendingTools)
		close(two.Open)
		r = h.Resume(id)
		WantWaiting(t, r, codemode.ReasonPendingTools)
		WantTexts(t, r, `first: "through"`)
		close(one.Open)
		WantValue(t, h.Resume(id), `["through","through"]`)
	})
}

// TestTimersSurviveSuspension: a timer rings when it is due, and not later because its run was
// suspended or its guest restored.
func TestTimersSurviveSuspension(t *testing.T) {
	for name, apart := range map[string]time.Duration{"it is due later": time.Second, "it was due before": time.Hour} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{Settings: codemode.Settings{SnapshotTTL: 24 * time.Hour}})
				began := time.Now()
				id := WantWaiting(t, h.Run(func(g *Guest) any {
					late := g.Timer(time.Minute)
					g.Yield()
					return late.Value()
				}), codemode.ReasonYield)
				time.Sleep(apart)
				WantValue(t, h.Resume(id), `null`)
				if took := time.Since(began); took != max(time.Minute, apart) {
					t.Errorf("it rang after %v", took)
				}
			})
		})
	}
}

// TestNoMoreRunsAreSuspendedThanMayBe: one too many fails and its calls are cancelled or
// never made; the others continue, and one that ends makes room.
func TestNoMoreRunsAreSuspendedThanMayBe(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{Settings: codemode.Settings{MaxSuspended: 2}, Quotas: codemode.Quotas{SessionPercent: 100}, Tools: []catalog.Tool{slow.Tool("slow")}})
		a := WantWaiting(t, h.Run(yields), codemode.ReasonYield)
		WantWaiting(t, h.Run(yields), codemode.ReasonYield)
		r := h.Run(func(g *Guest) any {
			g.Go("slow", nil)
			g.Yield()
			return nil
		})
		WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost)
		if !strings.HasPrefix(r.Error, "too many suspended code mode runs. ") || !strings.Contains(r.Error, "host's 2 suspended runs 2 are taken") || !strings.Contains(r.Error, "tools.codeMode.maxSuspendedRuns") {
			t.Errorf("error %q", r.Error)
		}
		if len(slow.Entered) > 0 || r.Dispatched {
			t.Error("a call of a refused run was made")
		}
		r = h.RunFor(time.Second, func(g *Guest) any { return g.Call("slow", nil) })
		WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost)
		<-slow.Entered
		<-slow.Ended // the call of the refused run was cancelled
		WantValue(t, h.Run(func(*Guest) any { return 1 }), `1`)
		WantValue(t, h.Resume(a), `42`)
		WantWaiting(t, h.Run(yields), codemode.ReasonYield)
	})
}

// TestASuspendedRunExpires: its calls are cancelled, the store has it no more, and a wait says
// what has become of it. Each use prolongs its life.
func TestASuspendedRunExpires(t *testing.T) {
	const ttl = 10 * time.Minute
	InBubble(t, func(t *testing.T) {
		var deleted atomic.Int32
		slow, store := NewGate(), &Seam{Store: &runstore.Memory{}}
		h := Start(t, Setup{Settings: codemode.Settings{SnapshotTTL: ttl}, Store: store, Tools: []catalog.Tool{slow.Tool("slow")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Go("slow", nil)
			for {
				g.Yield()
			}
		}), codemode.ReasonPendingTools)
		store.Delete = func(ctx context.Context, c runstore.Claim) error {
			deleted.Add(1)
			return c.Delete(ctx)
		}
		time.Sleep(ttl - time.Second)
		WantWaiting(t, h.Resume(id), codemode.ReasonPendingTools)
		time.Sleep(ttl - time.Second)
		synctest.Wait()
		if len(slow.Ended) != 0 || deleted.Load() != 0 {
			t.Error("it expired before its time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(slow.Ended) != 1 || deleted.Load() != 1 {
			t.Errorf("%d calls were cut off and %d runs deleted", len(slow.Ended), deleted.Load())
		}
		WantFailure(t, h.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRunExpired, codemode.PhaseInput)
	})
}

// TestAGuestThatIsTooLargeIsNotSuspended: its run fails by the limit, which has its own code.
func TestAGuestThatIsTooLargeIsNotSuspended(t *testing.T) {
	for size, fits := range map[int]bool{100: true, 10_000: false} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{Settings: codemode.Settings{MaxSnapshot: 1 << 10}})
				r := h.Run(func(g *Guest) any {
					g.Grow(size)
					g.Yield()
					return 1
				})
				if fits {
					WantWaiting(t, r, codemode.ReasonYield)
					return
				}
				WantFailure(t, r, codemode.CodeSnapshotLimit, "", codemode.PhaseGuest)
			})
		})
	}
}

// TestWallTimeIsCountedOnce.
func TestWallTimeIsCountedOnce(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		r := Start(t, Setup{}).Run(func(g *Guest) any {
			g.Sleep(100 * time.Millisecond)
			g.Yield()
			return 1
		})
		WantWaiting(t, r, codemode.ReasonYield)
		if got := r.Telemetry.WallMillis; got != 100 {
			t.Errorf("wallMs %v of a call that took 100ms", got)
		}
	})
}
