package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/wire"
)

// advancing starts a host that continues runs without a caller. It gives calls in flight no time
// when it closes.
func advancing(t *testing.T, s Setup) *Host {
	s.Advance, s.Config = 4, func(c *run.Config) { c.DrainTimeout = time.Millisecond }
	return Start(t, s)
}

// left starts a program for a caller who leaves it after a second.
func left(t *testing.T, h *Host, reason codemode.Reason, p Program) (id string) {
	t.Helper()
	return WantWaiting(t, h.RunFor(time.Second, p), reason)
}

// wantEnded wants a run to end within a minute, without a caller.
func wantEnded(t *testing.T, h *Host, id, want string) {
	t.Helper()
	time.Sleep(time.Minute)
	if ended := h.About(id, trajectory.RunEnded); len(ended) != 1 || ended[0].Code != want {
		t.Fatalf("it has ended with %+v, want once with the code %q", ended, want)
	}
}

// wantGone wants a run to be over for each caller.
func wantGone(t *testing.T, h *Host, id string) {
	t.Helper()
	WantFailure(t, h.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
}

// callsBoth calls a tool, emits something, and calls another tool.
func callsBoth(g *Guest) any {
	g.Call("first", nil)
	g.Text("one")
	v := g.Call("second", nil)
	g.Text("two")
	return v
}

// both are the gates of callsBoth. The second call is made again after its host stopped.
type both struct{ first, second *Gate }

func newBoth() both { return both{NewGate(), NewGate()} }

func (b both) setup() Setup {
	again := b.second.Tool("second")
	again.Idempotent = true
	return Setup{Store: NewKept(), Tools: []catalog.Tool{b.first.Tool("first"), again}}
}

// advanced starts callsBoth, which an advance then has continue until its second call.
func (b both) advanced(t *testing.T, h *Host) (id string) {
	id = left(t, h, codemode.ReasonPendingTools, callsBoth)
	close(b.first.Open)
	<-b.second.Entered
	return id
}

// TestAdvance: when its tool answers or its timer is over, a suspended run continues to its
// end without a caller. The next wait gets the result and all output since the last wait,
// once.
func TestAdvance(t *testing.T) {
	for name, open := range map[string]func() runstore.Store{
		"a store that ends with its host": func() runstore.Store { return &runstore.Memory{} },
		"a store that outlives it":        func() runstore.Store { return NewKept() },
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				slow := NewGate()
				h := advancing(t, Setup{Store: open(), Tools: []catalog.Tool{slow.Tool("slow"), Echo("echo")}})
				id := left(t, h, codemode.ReasonPendingTools, func(g *Guest) any {
					g.Text("before")
					got := g.Call("slow", nil)
					g.Text("after")
					return []any{got, g.Call("echo", N(1))}
				})
				close(slow.Open)
				wantEnded(t, h, id, "")
				r := h.Resume(id)
				WantValue(t, r, `["through",{"n":1}]`)
				WantTexts(t, r, "after")
				wantGone(t, h, id)

				id = left(t, h, codemode.ReasonTimer, func(g *Guest) any {
					g.Sleep(10 * time.Second)
					g.Text("rang")
					g.Throw("late")
					return nil
				})
				wantEnded(t, h, id, "program_error")
				r = h.Resume(id)
				WantFailure(t, r, codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
				WantTexts(t, r, "rang")
			})
		})
	}
}

// TestAdvanceAfterARestart: timers continue in the next host of the store. Output made without
// a caller in the second host is there for the wait in the third.
func TestAdvanceAfterARestart(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		s := Setup{Store: NewKept(), Tools: []catalog.Tool{slow.Tool("slow")}}
		first := Start(t, s)
		id := left(t, first, codemode.ReasonTimer, func(g *Guest) any {
			g.Text("one")
			g.Sleep(10 * time.Second)
			g.Text("two")
			g.Call("slow", nil)
			g.Text("three")
			return 3
		})
		first.Shut()
		second := advancing(t, s)
		time.Sleep(time.Minute)
		if n := len(second.About(id, trajectory.RunSuspended)); n != 1 {
			t.Errorf("the second host has suspended it %d times", n)
		}
		close(slow.Open)
		wantEnded(t, second, id, "")
		second.Shut()
		r := Start(t, s).Resume(id)
		WantValue(t, r, "3")
		WantTexts(t, r, "two", "three")
	})
}

// TestAdvanceKeepsOutput of a run that is suspended again, for a wait here and in the next host.
// The run is kept no longer than before.
func TestAdvanceKeepsOutput(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts ", restarts), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				b := newBoth()
				s := b.setup()
				h := advancing(t, s)
				id := left(t, h, codemode.ReasonPendingTools, callsBoth)
				before, err := s.Store.Get(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				close(b.first.Open)
				time.Sleep(10 * time.Second)
				now, err := s.Store.Get(t.Context(), id)
				if err != nil || now.Generation <= before.Generation || !now.Expires.Equal(before.Expires) {
					t.Errorf("got %+v (%v), want it to expire at %v as before", now, err, before.Expires)
				}
				if restarts {
					h.Shut()
					h = Start(t, s)
				}
				r := h.ResumeFor(id, time.Second)
				WantWaiting(t, r, codemode.ReasonPendingTools)
				WantTexts(t, r, "one")
				close(b.second.Open)
				r = h.Resume(id)
				WantValue(t, r, `"through"`)
				WantTexts(t, r, "two")
			})
		})
	}
}

// TestACallerTakesARunOver that is being advanced: it is neither refused nor made to wait for
// the end of the run, and nothing is done twice.
func TestACallerTakesARunOver(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		b := newBoth()
		h := advancing(t, b.setup())
		id := b.advanced(t, h)
		WantTook(t, time.Millisecond, func() {
			r := h.ResumeFor(id, time.Millisecond)
			WantWaiting(t, r, codemode.ReasonPendingTools)
			WantTexts(t, r, "one")
		})
		close(b.second.Open)
		r := h.Resume(id)
		WantValue(t, r, `"through"`)
		WantTexts(t, r, "two")
		if n := len(b.second.Entered); n != 0 {
			t.Errorf("the second tool was called %d times more", n)
		}
	})
}

// TestAnAbortedRunLeavesNothing: who has ended a run that was being advanced does not wait for it.
func TestAnAbortedRunLeavesNothing(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, h *Host, id string){
		"abort": func(t *testing.T, h *Host, id string) {
			WantFailure(t, h.Abort(t.Context(), Me, id), codemode.CodeAborted, "", codemode.PhaseHost)
		},
		"end of the session": func(t *testing.T, h *Host, _ string) {
			if n, err := h.EndSession(t.Context(), Me); n != 1 || err != nil {
				t.Errorf("%d runs were ended, %v", n, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				b := newBoth()
				h := advancing(t, b.setup())
				id := b.advanced(t, h)
				WantTook(t, 0, func() { end(t, h, id) })
				if _, err := h.Store.Ended(t.Context(), id); !errors.Is(err, runstore.ErrNotFound) {
					t.Errorf("the store keeps a result: %v", err)
				}
				wantGone(t, h, id)
			})
		})
	}
}

// TestAYieldWaitsForItsCaller: the program's other work continues until the caller is back.
func TestAYieldWaitsForItsCaller(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := advancing(t, Setup{Store: NewKept(), Tools: []catalog.Tool{slow.Tool("slow")}})
		id := left(t, h, codemode.ReasonPendingTools, func(g *Guest) any {
			slow, back := g.Go("slow", nil), g.Ask(wire.MethodYield, "", nil, nil)
			if g.Race(slow, back) == slow {
				g.Text("answered")
			}
			back.Value()
			g.Text("came back")
			return slow.Value()
		})
		close(slow.Open)
		time.Sleep(time.Minute)
		if n := len(h.About(id, trajectory.RunSuspended)); n != 2 {
			t.Errorf("it was suspended %d times, want once after each of its turns", n)
		}
		r := h.Resume(id)
		WantValue(t, r, `"through"`)
		WantTexts(t, r, "answered", "came back")
	})
}

// TestClosingKeepsWhatIsAdvanced: a host that closes leaves the run to the next, as it is.
func TestClosingKeepsWhatIsAdvanced(t *testing.T) {
	for name, first := range map[string]func(*testing.T, *Host){
		"close":    func(*testing.T, *Host) {},
		"shutdown": func(t *testing.T, h *Host) { h.LetFinish(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				b := newBoth()
				s := b.setup()
				h := advancing(t, s)
				id := b.advanced(t, h)
				first(t, h)
				h.Shut()
				close(b.second.Open)
				next := advancing(t, s)
				wantEnded(t, next, id, "")
				r := next.Resume(id)
				WantValue(t, r, `"through"`)
				WantTexts(t, r, "one", "two")
			})
		})
	}
}

// named is a store of one machine.
type named struct{ *Kept }

func (named) Identity() string                                { return "mine" }
func (named) Reserve(context.Context, string) (func(), error) { return func() {}, nil }

// TestDecisionsWithoutAHost: a host ends while a person is asked. The run resumes in another
// host once the person has decided, or the time for that is over.
func TestDecisionsWithoutAHost(t *testing.T) {
	const denied = `["The call of \"echo\" was denied: %s.","denied","none","quoin:core:echo"]`
	for name, tt := range map[string]struct {
		timeout time.Duration
		decide  policy.Decision // by a process without a host
		want    string
	}{
		"allowed": {time.Hour, policy.AllowOnce, `{"n":1}`},
		"denied":  {time.Hour, policy.Deny, fmt.Sprintf(denied, "a person decided so")},
		"expired": {20 * time.Second, "", fmt.Sprintf(denied, "no one approved it in time")},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				s := Setup{Store: named{NewKept()}, Approvals: &policy.MemoryApprovals{}, Tools: []catalog.Tool{Echo("echo")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{Timeout: tt.timeout}, "echo")}}
				first := Start(t, s)
				r := first.RunIn(run.WithAskingCaller(t.Context()), run.Input{}, func(g *Guest) any { return g.Try("echo", N(1)) })
				id := WantWaiting(t, r, codemode.ReasonApproval)
				first.Shut()
				second := advancing(t, s)
				if tt.decide != "" {
					if _, err := policy.Decide(t.Context(), s.Approvals, (<-first.Asked).ID, tt.decide, "bob", time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				wantEnded(t, second, id, "")
				WantValue(t, second.Resume(id), tt.want)
			})
		})
	}
}

// TestAdvanceOutlivesAStoreThatFails: a run that cannot continue without a caller, because the
// store does not answer, is kept for its full time.
func TestAdvanceOutlivesAStoreThatFails(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var broken atomic.Bool
		var asked atomic.Int32
		store := &Seam{Store: NewKept(), Got: func(string) error {
			if broken.Load() {
				asked.Add(1)
				return errors.New("input/output error")
			}
			return nil
		}}
		slow, still := NewGate(), NewGate()
		h := advancing(t, Setup{Store: store, Tools: []catalog.Tool{slow.Tool("slow"), still.Tool("still")}})
		id := left(t, h, codemode.ReasonPendingTools, func(g *Guest) any {
			still := g.Go("still", nil)
			g.Call("slow", nil)
			return still.Value()
		})
		broken.Store(true)
		close(slow.Open)
		time.Sleep(10 * time.Second)
		if n := asked.Load(); n < 2 {
			t.Errorf("the store was asked %d times", n)
		}
		broken.Store(false)
		close(still.Open)
		wantEnded(t, h, id, "")
		WantValue(t, h.Resume(id), `"through"`)
	})
}

// TestWithoutACallerARunIsKeptForItsNextTimer, and its result until its caller was told that
// the run is kept.
func TestWithoutACallerARunIsKeptForItsNextTimer(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		const ttl, question, timer = time.Minute, 5 * time.Hour, 7 * time.Hour
		h := advancing(t, Setup{
			Store: NewKept(), Settings: codemode.Settings{SnapshotTTL: ttl}, Tools: []catalog.Tool{Echo("guarded")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{Timeout: question}, "guarded")},
		})
		rings := time.Now().Add(10 * time.Second)
		id := left(t, h, codemode.ReasonTimer, func(g *Guest) any {
			g.Sleep(10 * time.Second)
			g.Sleep(timer)
			return nil
		})
		time.Sleep(20 * time.Second)
		synctest.Wait()
		want := rings.Add(timer + ttl)
		if info, err := h.Engine.Run(t.Context(), id); err != nil || !info.Expires.Equal(want) {
			t.Errorf("the host has %v, %v; want it to expire at %v", info.Expires, err, want)
		}
		if rec, err := h.Store.Get(t.Context(), id); err != nil || !rec.Expires.Equal(want) {
			t.Errorf("the store has %v, %v; want it to expire at %v", rec.Expires, err, want)
		}

		r := h.RunIn(run.WithAskingCaller(t.Context()), run.Input{}, func(g *Guest) any { return g.Call("guarded", nil) })
		id = WantWaiting(t, r, codemode.ReasonApproval)
		a := <-h.Asked
		h.Decide(a.ID, policy.AllowOnce)
		wantEnded(t, h, id, "")
		if e, err := h.Store.Ended(t.Context(), id); err != nil || !e.Expires.Equal(a.Expires.Add(ttl)) {
			t.Errorf("the result is kept as %+v, %v; want it kept until %v", e, err, a.Expires.Add(ttl))
		}
	})
}
