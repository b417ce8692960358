package calls_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
)

// TestACallThatIsGivenUpEndsItsToolsContext: the program continues, and the tool learns why,
// also where the call was in flight when the run was suspended or the guest's timer gave it
// up.
func TestACallThatIsGivenUpEndsItsToolsContext(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*Guest)
		waits  codemode.Reason // where the run is suspended before the call is given up
	}{
		"by a timer":     {func(g *Guest) { g.Sleep(time.Minute) }, ""},
		"after a wait":   {func(g *Guest) { g.Yield() }, codemode.ReasonPendingTools},
		"after its turn": {func(g *Guest) { g.Call("begun", nil) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				endless := NewGate()
				begun := Does("begun", func(context.Context, catalog.Invocation) (json.RawMessage, error) {
					<-endless.Entered // a call that has not reached its tool ends without it
					return nil, nil
				})
				h := Start(t, Setup{Tools: []catalog.Tool{endless.Tool("endless"), begun, Echo("echo")}})
				r := h.Run(func(g *Guest) any {
					call := g.Go("endless", nil)
					tt.before(g)
					g.Cancel(call)
					g.Call("echo", N(2)) // so that the cancellation leaves the guest
					return "gone on"
				})
				if tt.waits != "" {
					<-endless.Entered
					r = h.Resume(WantWaiting(t, r, tt.waits))
				}
				WantValue(t, r, `"gone on"`)
				if cause := <-endless.Ended; cause.Error() != "the program gave the call up" {
					t.Errorf("the tool's context ended because of %v", cause)
				}
			})
		})
	}
}

// TestACallThatIsGivenUpInTheQueueIsNeverMade, neither here nor by a host that finds the run after
// a crash: the journal has that it was given up.
func TestACallThatIsGivenUpInTheQueueIsNeverMade(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(map[bool]string{false: "one host", true: "the next host"}[crash], func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var paid Calls
				slow := NewGate()
				s := Setup{Store: NewKept(), Settings: codemode.Settings{MaxPendingCalls: 1}, Tools: []catalog.Tool{slow.Tool("slow"), paid.Tool("pay"), Echo("echo")}}
				h := Start(t, s)
				id := WantWaiting(t, h.Run(func(g *Guest) any {
					slow, pay := g.Go("slow", nil), g.Go("pay", nil)
					g.Cancel(pay)
					g.Yield()
					return []any{slow.Told(), pay.Err().Code, g.Call("echo", N(1))}
				}), codemode.ReasonPendingTools)
				<-slow.Entered
				if crash {
					rec, err := s.Store.Get(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					s.Store = Crashed(t, rec)
					h = Start(t, s)
				}
				close(slow.Open)
				want := `["through","aborted",{"n":1}]`
				if crash {
					want = `[["The host stopped while \"quoin:core:slow\" was running, so whether it took effect is unknown. Check before you call it again.","interrupted","unknown","quoin:core:slow"],"aborted",{"n":1}]`
				}
				WantValue(t, h.Resume(id), want)
				if paid.Len() != 0 {
					t.Error("a call that was given up in the queue was made")
				}
			})
		})
	}
}

// TestCallsBeyondTheQueueAreRefusedTogether: as many calls as there are slots run at once, those
// behind them wait, and of a burst that is too large for the queue no call starts.
func TestCallsBeyondTheQueueAreRefusedTogether(t *testing.T) {
	const slots, most = 4, 4 + codemode.MaxQueuedCalls
	burst := func(n int) Program {
		return func(g *Guest) any {
			calls := make([]*Promise, n)
			for i := range calls {
				calls[i] = g.Go("slow", nil)
			}
			g.Race(calls...)
			return n
		}
	}
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		slow.Entered = make(chan catalog.Invocation, 2*most)
		h := Start(t, Setup{Settings: codemode.Settings{MaxPendingCalls: slots}, Tools: []catalog.Tool{slow.Tool("slow")}})
		first := h.Go(burst(most))
		synctest.Wait()
		if n := len(slow.Entered); n != slots {
			t.Errorf("%d calls were in flight, want %d", n, slots)
		}
		r := h.Run(burst(most + 1))
		WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonTooManyPending, codemode.PhaseBridge)
		if n := len(slow.Entered); r.Dispatched || n != slots {
			t.Errorf("dispatched %v, %d calls: a refused burst must not start", r.Dispatched, n)
		}
		close(slow.Open)
		WantValue(t, <-first, `4004`)
	})
}

// TestAnswersThatNobodyTakesHoldCallsBack: a suspended program's queued calls start as long as its
// answers are few; the rest starts when it takes them.
func TestAnswersThatNobodyTakesHoldCallsBack(t *testing.T) {
	const calls, slots, reply = 12, 1, 4 << 20
	InBubble(t, func(t *testing.T) {
		big := make(json.RawMessage, reply)
		for i := range big {
			big[i] = 'x'
		}
		big[0], big[reply-1] = '"', '"'
		var made Calls
		count := made.Tool("big")
		tool := Does("big", func(ctx context.Context, inv catalog.Invocation) (json.RawMessage, error) {
			_, err := count.Invoke(ctx, inv)
			return big, err
		})
		h := Start(t, Setup{Tools: []catalog.Tool{tool}, Settings: codemode.Settings{MaxPendingCalls: slots, MaxSnapshot: 256 << 20}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			all := make([]*Promise, calls)
			for i := range all {
				all[i] = g.Go("big", nil)
			}
			g.Yield()
			sum := 0
			for _, p := range all {
				sum += len(p.Value())
			}
			return sum
		}), codemode.ReasonPendingTools)
		synctest.Wait()
		if n := made.Len(); n < 5 || n > 5+2*slots { // 20 MiB of answers: more than a turn carries
			t.Errorf("%d calls were made for a program that took no answer", n)
		}
		WantValue(t, h.Resume(id), "50331648")
		if n := made.Len(); n != calls {
			t.Errorf("%d calls were made", n)
		}
	})
}

// TestAProgramThatAlwaysCallsIsIdle, not running, when the time of its caller is over.
func TestAProgramThatAlwaysCallsIsIdle(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: []catalog.Tool{Does("tick", func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return c.Input, nil
		})}})
		var id string
		WantTook(t, time.Minute, func() {
			id = WantWaiting(t, h.RunFor(time.Minute, func(g *Guest) any {
				for {
					g.Call("tick", nil)
				}
			}), codemode.ReasonPendingTools)
		})
		WantFailure(t, h.Abort(t.Context(), Me, id), codemode.CodeAborted, "", codemode.PhaseHost)
	})
}
