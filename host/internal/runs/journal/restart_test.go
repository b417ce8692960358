package journal_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// briefDrain has a host give calls in flight no time when it closes.
func briefDrain(c *run.Config) { c.DrainTimeout = time.Millisecond }

// TestAnswersReachTheStore: Close lets calls of suspended runs finish, and the next host delivers
// their answers.
func TestAnswersReachTheStore(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow, never, store := NewGate(), NewGate(), NewKept()
		first := Start(t, Setup{Store: store, Tools: []catalog.Tool{slow.Tool("slow")}})
		id := WantWaiting(t, first.RunFor(time.Second, func(g *Guest) any { return g.Call("slow", nil) }), codemode.ReasonPendingTools)
		time.AfterFunc(time.Second, func() { close(slow.Open) })
		WantTook(t, time.Second, first.Shut)
		second := Start(t, Setup{Store: store, Tools: []catalog.Tool{never.Tool("slow")}})
		WantValue(t, second.Resume(id), `"through"`)
		if len(never.Entered) != 0 {
			t.Error("the call was made twice")
		}
	})
}

// TestCallsInFlightAtTheEnd: a call is made again after its host stopped if the tool is
// read-only or idempotent, with the same key; else it rejects as unknown.
func TestCallsInFlightAtTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		mark func(*catalog.Tool)
		want string
		made int
	}{
		"plain":      {func(*catalog.Tool) {}, `["The host stopped while \"quoin:core:slow\" was running, so whether it took effect is unknown. Check before you call it again.","interrupted","unknown","quoin:core:slow"]`, 1},
		"read-only":  {func(c *catalog.Tool) { c.ReadOnly = true }, `"through"`, 2},
		"idempotent": {func(c *catalog.Tool) { c.Idempotent = true }, `"through"`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				slow := NewGate()
				tool := slow.Tool("slow")
				tt.mark(&tool)
				s := Setup{Store: NewKept(), Tools: []catalog.Tool{tool}, Config: briefDrain}
				first := Start(t, s)
				id := WantWaiting(t, first.RunFor(time.Second, func(g *Guest) any { return g.Try("slow", nil) }), codemode.ReasonPendingTools)
				first.Shut()
				close(slow.Open)
				WantValue(t, Start(t, s).Resume(id), tt.want)
				if n := len(slow.Entered); n != tt.made {
					t.Fatalf("it was made %d times, want %d", n, tt.made)
				}
				key := (<-slow.Entered).IdempotencyKey
				if tt.made == 2 && (<-slow.Entered).IdempotencyKey != key {
					t.Error("the idempotency key has changed")
				}
			})
		})
	}
}

// TestACallThatIsMadeAgainInVain had no effect the second time. What the first host has done is
// unknown all the same.
func TestACallThatIsMadeAgainInVain(t *testing.T) {
	for name, tt := range map[string]struct {
		inFlight bool // when the first host stopped
		want     string
	}{
		"for the first time":            {false, `["ledger is being restarted","plugin_restarting","none","quoin:core:put"]`},
		"after it was in flight before": {true, `["ledger is being restarted","plugin_restarting","unknown","quoin:core:put"]`},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				gate := NewGate()
				hangs, fails := gate.Tool("put"), Does("put", func(context.Context, catalog.Invocation) (json.RawMessage, error) {
					return nil, protocol.NewError(protocol.KindProcess, protocol.CodeRestarting, "ledger is being restarted")
				})
				hangs.Idempotent, fails.Idempotent = true, true
				store := NewKept()
				first := Start(t, Setup{Store: store, Tools: []catalog.Tool{hangs}, Config: briefDrain})
				id := WantWaiting(t, first.RunFor(time.Second, func(g *Guest) any {
					if !tt.inFlight {
						g.Yield()
					}
					return g.Try("put", nil)
				}), map[bool]codemode.Reason{true: codemode.ReasonPendingTools, false: codemode.ReasonYield}[tt.inFlight])
				first.Shut()
				WantValue(t, Start(t, Setup{Store: store, Tools: []catalog.Tool{fails}}).Resume(id), tt.want)
			})
		})
	}
}

// TestACallThatIsMadeAgainAndAsks leaves in the journal of effects that what the first host has done is
// unknown.
func TestACallThatIsMadeAgainAndAsks(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		gate := NewGate()
		hangs, asks := gate.Tool("put"), Does("put", func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			return nil, &codemode.InputRequired{Questions: []codemode.Question{{ID: "size", Kind: codemode.QuestionForm, Message: "How large?", Schema: json.RawMessage(`{"type":"object"}`)}}}
		})
		for _, tool := range []*catalog.Tool{&hangs, &asks} {
			tool.Idempotent, tool.Revertible = true, true
		}
		store := NewKept()
		first := Start(t, Setup{Store: store, Tools: []catalog.Tool{hangs}, Config: briefDrain})
		id := WantWaiting(t, first.RunFor(time.Second, func(g *Guest) any { return g.Try("put", nil) }), codemode.ReasonPendingTools)
		first.Shut()
		second := Start(t, Setup{Store: store, Tools: []catalog.Tool{asks}})
		WantWaiting(t, second.ResumeFor(id, time.Second), codemode.ReasonApproval)
		j, err := store.Effects(t.Context(), id)
		if err != nil || len(j.Effects) != 1 || j.Effects[0].State != runstore.EffectUnknown {
			t.Fatalf("got %+v, %v, want one effect that is unknown", j, err)
		}
	})
}

// TestTwoHostsNeverMakeACallTwice: while one host has a call of a resumed run in flight, another that
// shares the store gets neither the run nor the call.
func TestTwoHostsNeverMakeACallTwice(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		tool := slow.Tool("slow")
		tool.Idempotent = true
		s := Setup{Store: NewKept(), Tools: []catalog.Tool{tool}}
		a, b := Start(t, s), Start(t, s)
		id := WantWaiting(t, a.Run(func(g *Guest) any {
			g.Yield()
			return g.Call("slow", nil)
		}), codemode.ReasonYield)
		WantWaiting(t, a.ResumeFor(id, time.Second), codemode.ReasonPendingTools)
		WantFailure(t, b.ResumeFor(id, time.Second), codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
		if n := len(slow.Entered); n != 1 {
			t.Errorf("the call was made %d times", n)
		}
		close(slow.Open)
		WantValue(t, a.Resume(id), `"through"`)
	})
}

// TestExpiryLeavesWhatOthersResumed: a host with an outdated copy of a run does not end it
// when its own time for it is over.
func TestExpiryLeavesWhatOthersResumed(t *testing.T) {
	const ttl = 10 * time.Minute
	InBubble(t, func(t *testing.T) {
		s := Setup{Store: NewKept(), Settings: codemode.Settings{SnapshotTTL: ttl}}
		a, b := Start(t, s), Start(t, s)
		id := WantWaiting(t, a.Run(func(g *Guest) any {
			g.Yield()
			g.Yield()
			return 42
		}), codemode.ReasonYield)
		time.Sleep(ttl - time.Second)
		WantWaiting(t, b.Resume(id), codemode.ReasonYield)
		time.Sleep(ttl - time.Second)
		WantValue(t, b.Resume(id), `42`)
	})
}

// TestHostDiesWhileARunGoesOn: before a resumed guest's call leaves, the store has the guest
// that made it and the call, and a host that finds them continues.
func TestHostDiesWhileARunGoesOn(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow, store := NewGate(), NewKept()
		tools := []catalog.Tool{slow.Tool("slow")}
		first := Start(t, Setup{Store: store, Tools: tools})
		id := WantWaiting(t, first.Run(func(g *Guest) any {
			g.Yield()
			g.Text("before")
			if e := g.Go("slow", nil).Err(); e != nil {
				return []string{e.EffectStatus, e.ToolID}
			}
			return "through"
		}), codemode.ReasonYield)
		done := Later(func() *codemode.Result { return first.Resume(id) })
		<-slow.Entered
		rec, err := store.Get(t.Context(), id) // what a host that dies now leaves behind
		if err != nil {
			t.Fatal(err)
		}
		close(slow.Open)
		WantValue(t, <-done, `"through"`)
		second := Start(t, Setup{Store: Crashed(t, rec), Tools: tools})
		r := second.Resume(id)
		WantValue(t, r, `["unknown","quoin:core:slow"]`)
		WantTexts(t, r, "before") // the first host did not return it
		WantFailure(t, second.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	})
}

// TestHostDiesWithALargeGuest: a guest too large for an image continues without one. If its
// host dies, the run is gone, and wait says what is known, also if an answer or an advancer
// has found that before.
func TestHostDiesWithALargeGuest(t *testing.T) {
	for name, found := range map[string]func(*testing.T, *Host, string){
		"by a wait":     func(*testing.T, *Host, string) {},
		"by a delivery": func(t *testing.T, h *Host, id string) { h.Deliver(t.Context(), Me, id, 0).Release() },
		"by an answer": func(t *testing.T, h *Host, id string) {
			if err := h.Answer(t.Context(), Me, id, "call", codemode.ToolAnswer{Value: []byte("1")}); err == nil || !strings.Contains(err.Error(), "check before") {
				t.Errorf("an answer to a call of the run: %v", err)
			}
		},
		"by an advancer": func(t *testing.T, h *Host, id string) {
			if err := h.Store.(runstore.Scheduler).Wake(t.Context(), id); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				slow, store := NewGate(), NewKept()
				first := Start(t, Setup{Store: store, Settings: codemode.Settings{MaxSnapshot: 1 << 10}, Tools: []catalog.Tool{slow.Tool("slow")}})
				id := WantWaiting(t, first.Run(func(g *Guest) any {
					g.Yield()
					g.Grow(1 << 20)
					return g.Call("slow", nil)
				}), codemode.ReasonYield)
				done := Later(func() *codemode.Result { return first.Resume(id) })
				<-slow.Entered
				rec, err := store.Get(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if !rec.Live || !rec.Dispatched || len(rec.Image) != 0 {
					t.Errorf("record %+v: want a note that the run was going on", rec)
				}
				close(slow.Open)
				WantValue(t, <-done, `"through"`)

				second := Start(t, Setup{Store: Crashed(t, rec), Advance: 4})
				found(t, second, id)
				r := second.Resume(id)
				WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseHost)
				if !r.Dispatched || !strings.Contains(r.Error, "check before") || !strings.Contains(r.Error, "quoin:core:slow") {
					t.Errorf("got %s, want dispatched and advice", Show(r))
				}
				WantFailure(t, second.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
			})
		})
	}
}

// TestTwoHostsTakeTurnsWithARun that is in their store.
func TestTwoHostsTakeTurnsWithARun(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := Setup{Store: NewKept()}
		a, b := Start(t, s), Start(t, s)
		r := a.Run(func(g *Guest) any {
			seen := []int{}
			for i := range 6 {
				g.Yield()
				seen = append(seen, i)
			}
			return seen
		})
		id := r.RunID
		for i := range 6 {
			WantWaiting(t, r, codemode.ReasonYield)
			h := a
			if i%2 == 0 {
				h = b
			}
			r = h.Resume(id)
		}
		WantValue(t, r, `[0,1,2,3,4,5]`)
		WantFailure(t, a.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	})
}

// stale is a host that does not know that the lease of a run is over, and another host of its store.
func stale(t *testing.T, tools ...catalog.Tool) (a, b *Host, over func(id string)) {
	kept := NewKept()
	claims := map[string]runstore.Claim{}
	store := &leased{Store: kept, claims: claims}
	return Start(t, Setup{Store: store, Tools: tools}), Start(t, Setup{Store: kept, Tools: tools}), func(id string) { claims[id].Release() }
}

type leased struct {
	runstore.Store
	claims    map[string]runstore.Claim
	beforeGet func()
}

func (s *leased) Create(ctx context.Context, r *runstore.Record, limit int) (runstore.Claim, error) {
	c, err := s.Store.Create(ctx, r, limit)
	s.claims[r.ID] = c
	return c, err
}

func (s *leased) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := s.Store.Claim(ctx, id)
	s.claims[id] = c
	return c, err
}

func (s *leased) Get(ctx context.Context, id string) (*runstore.Record, error) {
	r, err := s.Store.Get(ctx, id)
	if f := s.beforeGet; f != nil {
		s.beforeGet = nil
		f()
	}
	return r, err
}

// TestAStaleHostWritesNothing: a host releases a run that was taken over while one of its
// calls was in flight. The answer of the call is the other host's business.
func TestAStaleHostWritesNothing(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var paid Calls
		slow := NewGate()
		a, b, over := stale(t, slow.Tool("slow"), paid.Tool("pay"))
		id := WantWaiting(t, a.Run(func(g *Guest) any {
			slow := g.Go("slow", nil)
			g.Yield()
			e := slow.Err()
			g.Call("pay", N(1))
			return e.EffectStatus
		}), codemode.ReasonPendingTools)
		<-slow.Entered
		over(id)
		WantValue(t, b.Resume(id), `"unknown"`)
		close(slow.Open)
		synctest.Wait()
		if r := a.Resume(id); r.Status != codemode.StatusFailed {
			t.Errorf("the stale host: %s", Show(r))
		}
		if taken := a.Inspect().Taken(); len(taken) != 0 {
			t.Errorf("the stale host still holds %v", taken)
		}
		wantCalls(t, &paid, 1)
	})
}

// TestAStaleHostMakesNoMoreCalls: a program that still runs while its run belongs to another
// host gets no further than to its next call, and its caller is told to wait again. One that
// returns has not ended.
func TestAStaleHostMakesNoMoreCalls(t *testing.T) {
	for how, wait := range waits {
		for _, calls := range []int{0, 1} {
			t.Run(how+map[int]string{0: ", at its end", 1: ", at its call"}[calls], func(t *testing.T) {
				InBubble(t, func(t *testing.T) {
					var paid Calls
					a, b, over := stale(t, paid.Tool("pay"))
					id := WantWaiting(t, a.Run(func(g *Guest) any {
						g.Yield()
						for range calls {
							g.Call("pay", N(1))
						}
						return 42
					}), codemode.ReasonYield)
					a.Store.(*leased).beforeGet = func() { over(id) }
					WantFailure(t, wait(t, a, id), codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
					wantCalls(t, &paid, 0)
					WantValue(t, b.Resume(id), `42`)
					wantCalls(t, &paid, calls)
				})
			})
		}
	}
}

// TestAStaleHostHidesNoResult: a run that another host has ended is not gone before its result has
// arrived, whichever host is asked for it.
func TestAStaleHostHidesNoResult(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		a, b, over := stale(t, slow.Tool("slow"))
		id := WantWaiting(t, a.Run(func(g *Guest) any {
			slow := g.Go("slow", nil)
			g.Yield()
			return slow.Err().EffectStatus
		}), codemode.ReasonPendingTools)
		<-slow.Entered
		defer close(slow.Open)
		over(id)
		lost := b.Deliver(t.Context(), Me, id, 0)
		WantValue(t, lost.Result, `"unknown"`)
		if !lost.Release() {
			t.Fatal("the store does not have the result")
		}
		WantFailure(t, a.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
		WantValue(t, a.Resume(id), `"unknown"`)
	})
}

// TestCallsCarryTheEpoch: a tool can tell a host that has lost a run from the one that has it, and attempts
// of one call from other calls.
func TestCallsCarryTheEpoch(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var paid Calls
		slow := NewGate()
		tool := slow.Tool("slow")
		tool.Idempotent = true
		a, b, over := stale(t, tool, paid.Tool("pay"))
		id := WantWaiting(t, a.Run(func(g *Guest) any {
			g.Call("pay", N(1))
			slow := g.Go("slow", nil)
			g.Yield()
			slow.Value()
			return g.Call("pay", N(2))
		}), codemode.ReasonPendingTools)
		first := <-slow.Entered
		over(id)
		done := Later(func() *codemode.Result { return b.Resume(id) })
		second := <-slow.Entered
		close(slow.Open)
		WantValue(t, <-done, `{"n":2}`)
		if first.IdempotencyKey != second.IdempotencyKey || first.Epoch != 1 || second.Epoch <= first.Epoch {
			t.Errorf("the attempts have the keys %s and %s, the epochs %d and %d", first.IdempotencyKey, second.IdempotencyKey, first.Epoch, second.Epoch)
		}
		list := paid.All()
		if len(list) != 2 || list[0].Epoch != 0 || list[1].Epoch != second.Epoch || list[0].IdempotencyKey == list[1].IdempotencyKey {
			t.Errorf("the payments are %+v", list)
		}
	})
}

// TestForeignBuildsAreRefused: an image of another guest build is never loaded, and without
// a log there is no replay.
func TestForeignBuildsAreRefused(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		old := Setup{Store: NewKept(), Guests: &Guests{Build: "old"}}
		first := Start(t, old)
		id := WantWaiting(t, first.Run(func(g *Guest) any {
			g.Yield()
			return 42
		}), codemode.ReasonYield)
		first.Shut()
		Alter(t, old.Store, id, func(rec *runstore.Record) { rec.Replay = nil })
		second := Start(t, Setup{Store: old.Store, Guests: &Guests{Build: "new"}})
		WantFailure(t, second.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost)
		if n := second.Guests.Count("restore"); n != 0 {
			t.Errorf("the image was loaded %d times", n)
		}
		second.Shut()
		WantValue(t, Start(t, old).Resume(id), `42`)
	})
}
