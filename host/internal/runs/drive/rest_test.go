package drive_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
)

// TestIdleGuestsGiveTheirWorkerBack: with one place for workers, a second cell runs while the
// first waits for a tool; a guest that waits for a moment stays in its worker.
func TestIdleGuestsGiveTheirWorkerBack(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{MaxWorkers: 1, Tools: []catalog.Tool{slow.Tool("slow"), Echo("echo")}})
		first := h.Go(func(g *Guest) any {
			bell := g.Timer(time.Minute)
			return []any{g.Call("slow", nil), bell.Value()}
		})
		<-slow.Entered
		time.Sleep(timing.Defaults.EvictAfter - 1)
		if n := h.Guests.Stats().InUse; n != 1 {
			t.Fatalf("%d workers are in use after a moment", n)
		}
		WantValue(t, h.Run(func(g *Guest) any { return g.Call("echo", N(2)) }), `{"n":2}`)
		close(slow.Open)
		WantValue(t, <-first, `["through",null]`)
		if n := h.Guests.Count("restore"); n != 2 { // for the answer, and for the bell
			t.Errorf("the guest was restored %d times", n)
		}
	})
}

// TestLargeGuestsStayInTheirWorker: a guest with an image that would be too large continues
// where it is.
func TestLargeGuestsStayInTheirWorker(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{Settings: codemode.Settings{MaxSnapshot: 1 << 10}, Tools: []catalog.Tool{slow.Tool("slow")}})
		done := h.Go(func(g *Guest) any {
			g.Grow(1 << 20)
			bell := g.Timer(time.Minute)
			return []any{g.Call("slow", nil), bell.Value()}
		})
		<-slow.Entered
		time.Sleep(10 * timing.Defaults.EvictAfter)
		if n := h.Guests.Stats().InUse; n != 1 || h.Guests.Count("snapshot") == 0 {
			t.Errorf("%d workers are in use, after %d attempts to take the guest out", n, h.Guests.Count("snapshot"))
		}
		close(slow.Open)
		WantValue(t, <-done, `["through",null]`)
		if h.Guests.Count("restore") != 0 {
			t.Error("the guest was restored")
		}
	})
}

// TestManyRunsWaitAtOnce: the number of cells that wait for slow tools is not bounded by the
// number of the workers.
func TestManyRunsWaitAtOnce(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		const many = 500
		slow := NewGate()
		h := Start(t, Setup{MaxWorkers: 4, Tools: []catalog.Tool{slow.Tool("slow")}})
		var done []<-chan *codemode.Result
		for range many {
			done = append(done, h.Go(func(g *Guest) any { return g.Call("slow", nil) }))
		}
		for range many {
			<-slow.Entered // all of them are in flight at once
		}
		close(slow.Open)
		for _, d := range done {
			WantValue(t, <-d, `"through"`)
		}
	})
}

// TestBusyWorkers: a cell that finds no worker for as long as its caller waits says so, and one
// that waits longer gets the worker in its turn.
func TestBusyWorkers(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{MaxWorkers: 1, Settings: codemode.Settings{Timeout: time.Minute}})
		ctx, cancel := context.WithCancel(t.Context())
		spinning := Later(func() *codemode.Result {
			return h.RunIn(ctx, run.Input{}, func(g *Guest) any {
				g.Compute(30 * time.Second)
				return 1
			})
		})
		synctest.Wait()
		WantTook(t, time.Second, func() {
			r := h.RunFor(time.Second, func(*Guest) any { return 1 })
			WantFailure(t, r, codemode.CodeUnavailable, "", codemode.PhaseHost)
			if !strings.HasPrefix(r.Error, "every guest worker is busy: of the host's 1 guest workers 1 are taken") {
				t.Errorf("error %q", r.Error)
			}
		})
		next := h.Go(func(*Guest) any { return 2 })
		synctest.Wait()
		cancel()
		WantFailure(t, <-spinning, codemode.CodeAborted, "", codemode.PhaseHost)
		WantValue(t, <-next, `2`)
	})
}

// TestProcessorTimeAddsUp over the waits of a run and over its hosts, until its budget is used
// up. Waiting costs nothing of it.
func TestProcessorTimeAddsUp(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := Setup{Store: NewKept(), Settings: codemode.Settings{CPUBudget: 300 * time.Millisecond}}
		h := Start(t, s)
		r := h.Run(func(g *Guest) any {
			for {
				g.Compute(40 * time.Millisecond)
				g.Sleep(time.Hour)
				g.Yield()
			}
		})
		waits := 0
		for ; r.Status == codemode.StatusWaiting && waits < 100; waits++ {
			if waits == 3 { // the budget survives the host
				h.Shut()
				h = Start(t, s)
			}
			r = h.ResumeFor(r.RunID, time.Hour)
		}
		WantFailure(t, r, codemode.CodeTimeout, "", codemode.PhaseGuest)
		if !strings.Contains(r.Error, "CPU budget exceeded: the run has used 300ms") || r.Telemetry.GuestCPUMillis != 320 {
			t.Errorf("after %d waits: %s", waits, Show(r))
		}
	})
}

// TestATurnEndsWithTheBudget: a turn may take no longer than a busy machine needs for what is
// left of it.
func TestATurnEndsWithTheBudget(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Settings: codemode.Settings{CPUBudget: time.Second, Timeout: time.Minute}})
		WantTook(t, 8*time.Second+timing.Defaults.CPUGrace, func() {
			r := h.Run(func(g *Guest) any {
				g.Compute(time.Hour)
				return 1
			})
			WantFailure(t, r, codemode.CodeTimeout, "", codemode.PhaseGuest)
		})
	})
}
