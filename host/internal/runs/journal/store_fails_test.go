package journal_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
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
)

// errDisk is how a faulty store fails.
var errDisk = errors.New("input/output error")

// faulty is a store with writes that fail while it is full. The first ones may be made
// although their answers are lost.
type faulty struct {
	*Seam
	full        atomic.Bool
	commits     atomic.Int64 // so many writes are made all the same
	checkpoints atomic.Int64 // so many of them fail
	answers     atomic.Bool
}

func newFaulty() *faulty {
	s := &faulty{Seam: &Seam{Store: NewKept()}}
	write := func(fails bool, do func() error) error {
		if !fails {
			return do()
		}
		if s.commits.Add(-1) >= 0 {
			if err := do(); err != nil {
				return err
			}
		}
		return errDisk
	}
	s.Checkpoint = func(ctx context.Context, c runstore.Claim, r *runstore.Record) error {
		fails := s.checkpoints.Add(-1) >= 0
		return write(fails || s.full.Load(), func() error { return c.Checkpoint(ctx, r) })
	}
	s.PutCalls = func(ctx context.Context, c runstore.Claim, generation uint64, calls []runstore.Call) error {
		return write(s.full.Load() || s.answers.Load(), func() error { return c.PutCalls(ctx, generation, calls) })
	}
	s.End = func(ctx context.Context, c runstore.Claim, e *runstore.Ended) error {
		return write(s.full.Load(), func() error { return c.End(ctx, e) })
	}
	s.Delete = func(ctx context.Context, c runstore.Claim) error {
		return write(s.full.Load(), func() error { return c.Delete(ctx) })
	}
	return s
}

// wantKept wants a result that says that the run is as it was, because its store fails.
func wantKept(t *testing.T, r *codemode.Result) {
	t.Helper()
	WantFailure(t, r, codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
	if !strings.Contains(r.Error, "kept as it was") {
		t.Errorf("got %s", Show(r))
	}
}

func wantCalls(t *testing.T, c *Calls, want int) {
	t.Helper()
	if n := c.Len(); n != want {
		t.Fatalf("%d calls, want %d", n, want)
	}
}

// TestCallsOfAResumedRunNeedACheckpoint: a call that the store does not know of is not made,
// or a host that finds the run after a crash would make it again. Nor is the program told
// so: the run continues later from what the store has.
func TestCallsOfAResumedRunNeedACheckpoint(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var paid Calls
		store := newFaulty()
		h := Start(t, Setup{Store: store, Tools: []catalog.Tool{paid.Tool("pay")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			return g.Call("pay", N(1))
		}), codemode.ReasonYield)
		store.checkpoints.Store(1)
		wantKept(t, h.Resume(id))
		wantCalls(t, &paid, 0)
		WantValue(t, h.Resume(id), `{"n":1}`)
		wantCalls(t, &paid, 1)
	})
}

// TestCallsWithoutASlotNeedACheckpoint: the turn that makes them may or may not be stored.
// The run does not continue here as if it were.
func TestCallsWithoutASlotNeedACheckpoint(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var paid Calls
		store, slow := newFaulty(), NewGate()
		tool := slow.Tool("slow")
		tool.Idempotent = true
		h := Start(t, Setup{Store: store, Settings: codemode.Settings{MaxPendingCalls: 1}, Tools: []catalog.Tool{tool, paid.Tool("pay")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			slow := g.Go("slow", nil)
			g.Yield()
			pay := g.Go("pay", N(1))
			return []any{slow.Value(), pay.Value()}
		}), codemode.ReasonPendingTools)
		<-slow.Entered
		store.checkpoints.Store(1)
		wantKept(t, h.Resume(id))
		close(slow.Open)
		WantValue(t, h.Resume(id), `["through",{"n":1}]`)
		wantCalls(t, &paid, 1)
	})
}

// TestQueuedCallsNeedTheJournal: the slot of a call that settles goes to the next, which is
// not made if the store could not be told, and an answer that the store may not have is not
// given to the program: it would see another one after the end of this host. The run
// continues from what the store has.
func TestQueuedCallsNeedTheJournal(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var paid Calls
		store, slow := newFaulty(), NewGate()
		h := Start(t, Setup{Store: store, Settings: codemode.Settings{MaxPendingCalls: 1}, Tools: []catalog.Tool{slow.Tool("slow"), paid.Tool("pay")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			slow, pay := g.Go("slow", nil), g.Go("pay", N(1))
			g.Yield()
			return []any{slow.Err().EffectStatus, pay.Value()}
		}), codemode.ReasonPendingTools)
		<-slow.Entered
		store.answers.Store(true)
		close(slow.Open)
		synctest.Wait()
		wantCalls(t, &paid, 0)
		store.answers.Store(false)
		WantValue(t, h.Resume(id), `["unknown",{"n":1}]`)
		wantCalls(t, &paid, 1)
	})
}

// TestAnAnswerNeedsTheJournal, although no other call waits for its slot.
func TestAnAnswerNeedsTheJournal(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store, slow := newFaulty(), NewGate()
		h := Start(t, Setup{Store: store, Tools: []catalog.Tool{slow.Tool("slow")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			slow := g.Go("slow", nil)
			g.Yield()
			return slow.Err().EffectStatus
		}), codemode.ReasonPendingTools)
		<-slow.Entered
		store.answers.Store(true)
		close(slow.Open)
		synctest.Wait()
		store.answers.Store(false)
		WantValue(t, h.Resume(id), `"unknown"`)
	})
}

// TestAnswersThatTheStoreHasLost are put again with the next one: another host would
// continue without them.
func TestAnswersThatTheStoreHasLost(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var written [][]uint64
		loses, store := false, &Seam{Store: NewKept()}
		store.PutCalls = func(ctx context.Context, c runstore.Claim, generation uint64, calls []runstore.Call) error {
			if loses {
				loses = false
				return runstore.ErrCallsLost
			}
			var ids []uint64
			for _, call := range calls {
				ids = append(ids, call.ID)
			}
			written = append(written, ids)
			return c.PutCalls(ctx, generation, calls)
		}
		one, other := NewGate(), NewGate()
		h := Start(t, Setup{Store: store, Tools: []catalog.Tool{one.Tool("one"), other.Tool("other")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			a, b := g.Go("one", nil), g.Go("other", nil)
			g.Yield()
			return []any{a.Value(), b.Value()}
		}), codemode.ReasonPendingTools)
		close(one.Open)
		synctest.Wait()
		loses = true
		close(other.Open)
		synctest.Wait()
		if len(written) != 2 || len(written[0]) != 1 || len(written[1]) != 2 {
			t.Errorf("the writes were %v, want one call, and then both", written)
		}
		WantValue(t, h.Resume(id), `["through","through"]`)
	})
}

// TestAnApprovedCallNeedsTheJournal: in the store it still waits for a person, so the next host would
// make it again.
func TestAnApprovedCallNeedsTheJournal(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var paid Calls
		store := newFaulty()
		h := Start(t, Setup{Store: store, Tools: []catalog.Tool{paid.Tool("echo")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{}, "echo")}})
		id := WantWaiting(t, h.RunIn(run.WithAskingCaller(t.Context()), run.Input{}, func(g *Guest) any { return g.Call("echo", N(1)) }), codemode.ReasonApproval)
		store.answers.Store(true)
		h.Decide((<-h.Asked).ID, policy.AllowOnce)
		synctest.Wait()
		wantCalls(t, &paid, 0)
		store.answers.Store(false)
		WantValue(t, h.Resume(id), `{"n":1}`)
		wantCalls(t, &paid, 1)
	})
}

// TestARunThatAnotherHostWentOnWith between the look at it and the claim: it resumes from
// where that host left it, if it left anything.
func TestARunThatAnotherHostWentOnWith(t *testing.T) {
	for _, ended := range []bool{true, false} {
		t.Run(map[bool]string{true: "and ended", false: "and suspended again"}[ended], func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				var paid Calls
				kept := NewKept()
				tools := []catalog.Tool{paid.Tool("pay")}
				first := Start(t, Setup{Store: kept, Tools: tools})
				id := WantWaiting(t, first.Run(func(g *Guest) any {
					g.Yield()
					paid := g.Call("pay", N(1))
					if !ended {
						g.Yield()
					}
					return paid
				}), codemode.ReasonYield)
				store := &Seam{Store: kept}
				store.Claimed = func(string) error {
					store.Claimed = nil
					if r := first.Resume(id); r.Status == codemode.StatusFailed {
						t.Errorf("the other host: %s", Show(r))
					}
					return nil
				}
				r := Start(t, Setup{Store: store, Tools: tools}).Resume(id)
				if ended {
					WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
				} else {
					WantValue(t, r, `{"n":1}`)
				}
				wantCalls(t, &paid, 1)
			})
		})
	}
}

// TestDispatchedSurvivesTheHost: the call was made while the run was suspended, and its answer is all
// that the next host knows of it. A result that said otherwise would invite a repeat.
func TestDispatchedSurvivesTheHost(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		s := Setup{Store: NewKept(), Tools: []catalog.Tool{slow.Tool("slow")}}
		first := Start(t, s)
		id := WantWaiting(t, first.Run(func(g *Guest) any {
			slow := g.Go("slow", nil)
			g.Yield()
			g.Throw(string(slow.Value()))
			return nil
		}), codemode.ReasonPendingTools)
		<-slow.Entered
		close(slow.Open)
		synctest.Wait()
		first.Shut()
		r := Start(t, s).Resume(id)
		WantFailure(t, r, codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
		if !r.Dispatched {
			t.Errorf("a tool was called, but the result says that none was: %s", Show(r))
		}
	})
}

// waits are the ways to wait for a run.
var waits = map[string]func(*testing.T, *Host, string) *codemode.Result{
	"wait": func(_ *testing.T, h *Host, id string) *codemode.Result { return h.Resume(id) },
	"deliver": func(t *testing.T, h *Host, id string) *codemode.Result {
		return h.Deliver(t.Context(), Me, id, 0).Result
	},
}

// TestACallOfUnknownRecordIsNeitherMadeNorRejected: the store refuses the checkpoint of a
// call, or has made it and its answer is lost. The program is not told that the call was not
// made, because a host that resumes from the store may make it; nor is it made here.
func TestACallOfUnknownRecordIsNeitherMadeNorRejected(t *testing.T) {
	for name, tt := range map[string]struct {
		commits int64
		want    string
		calls   int
	}{
		"refused":     {0, `{"n":1}`, 1},
		"answer lost": {1, `"unknown"`, 0},
	} {
		for how, wait := range waits {
			t.Run(name+", "+how, func(t *testing.T) {
				InBubble(t, func(t *testing.T) {
					var paid Calls
					store := newFaulty()
					h := Start(t, Setup{Store: store, Tools: []catalog.Tool{paid.Tool("pay")}})
					id := WantWaiting(t, h.Run(func(g *Guest) any {
						g.Yield()
						pay := g.Go("pay", N(1))
						if e := pay.Err(); e != nil {
							return e.EffectStatus
						}
						return pay.Value()
					}), codemode.ReasonYield)
					store.commits.Store(tt.commits)
					store.full.Store(true)
					wantKept(t, wait(t, h, id))
					wantCalls(t, &paid, 0)
					store.full.Store(false)
					WantValue(t, wait(t, h, id), tt.want)
					wantCalls(t, &paid, tt.calls)
				})
			})
		}
	}
}

// TestAResultOfUnknownRecordIsNotDelivered: a run has no result yet when the store may not
// have its end. Else another host could resume it after its caller had one.
func TestAResultOfUnknownRecordIsNotDelivered(t *testing.T) {
	for name, commits := range map[string]int64{"refused": 0, "answer lost": 1} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				store := newFaulty()
				h := Start(t, Setup{Store: store})
				id := WantWaiting(t, h.Run(func(g *Guest) any {
					g.Yield()
					return 1
				}), codemode.ReasonYield)
				store.commits.Store(commits)
				store.full.Store(true)
				wantKept(t, waits["deliver"](t, h, id))
				store.full.Store(false)
				WantValue(t, waits["deliver"](t, h, id), `1`)
			})
		})
	}
}

// TestAnEndedRunIsHeldUntilItIsDeleted: the caller has the result, so no other host resumes
// the run while the store refuses to delete it.
func TestAnEndedRunIsHeldUntilItIsDeleted(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store := newFaulty()
		h := Start(t, Setup{Store: store})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			return 1
		}), codemode.ReasonYield)
		store.full.Store(true)
		WantValue(t, h.Resume(id), `1`)
		time.Sleep(time.Minute)
		if _, err := store.Seam.Store.Claim(t.Context(), id); err != runstore.ErrClaimed {
			t.Errorf("another host claims the run: %v", err)
		}
		store.full.Store(false)
		time.Sleep(time.Minute)
		if list, err := store.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("the store has %v, %v", list, err)
		}
	})
}

// TestARunThatCannotBeStoredAgainIsKept: a run that resumes and cannot be suspended again
// does not end as failed and come back later: it is kept as it was, says so, and completes
// once.
func TestARunThatCannotBeStoredAgainIsKept(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store := newFaulty()
		h := Start(t, Setup{Store: store})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			g.Yield()
			return 7
		}), codemode.ReasonYield)
		store.full.Store(true)
		for range 2 {
			r := h.Resume(id)
			wantKept(t, r)
			if !strings.Contains(r.Error, errDisk.Error()) {
				t.Errorf("got %s", Show(r))
			}
		}
		store.full.Store(false)
		WantWaiting(t, h.Resume(id), codemode.ReasonYield)
		WantValue(t, h.Resume(id), `7`)
	})
}

// TestAnswersShareAWrite: each answer is written once, and calls that settle while a write is under
// way share the next.
func TestAnswersShareAWrite(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		var written [][]uint64
		entered, open, store := make(chan struct{}, 10), make(chan struct{}), &Seam{Store: NewKept()}
		store.PutCalls = func(ctx context.Context, c runstore.Claim, generation uint64, calls []runstore.Call) error {
			var ids []uint64
			for _, call := range calls {
				if call.State == runstore.CallSettled {
					ids = append(ids, call.ID)
				}
			}
			written = append(written, ids)
			entered <- struct{}{}
			<-open
			return c.PutCalls(ctx, generation, calls)
		}
		a, b, c := NewGate(), NewGate(), NewGate()
		h := Start(t, Setup{Store: store, Tools: []catalog.Tool{a.Tool("a"), b.Tool("b"), c.Tool("c")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			a, b, c := g.Go("a", nil), g.Go("b", nil), g.Go("c", nil)
			return []any{a.Value(), b.Value(), c.Value()}
		}), codemode.ReasonYield)
		done := Later(func() *codemode.Result { return h.Resume(id) })
		synctest.Wait()
		close(a.Open)
		<-entered // the first answer is being written
		close(b.Open)
		close(c.Open)
		for h.Inspect().Settled(id) < 3 { // they wait for a lock, which is no end of all activity
			runtime.Gosched()
		}
		close(open)
		WantValue(t, <-done, `["through","through","through"]`)
		if len(written) != 2 || len(written[0]) != 1 || len(written[1]) != 2 {
			t.Errorf("answers, write by write: %v, want one and two", written)
		}
	})
}

// TestRunsTooLargeForTheStore fail by the limit of snapshots.
func TestRunsTooLargeForTheStore(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store := &Seam{Store: &runstore.Memory{}, Created: func(context.Context, *runstore.Record) error { return runstore.ErrTooLarge }}
		h := Start(t, Setup{Store: store})
		WantFailure(t, h.Run(func(g *Guest) any {
			g.Yield()
			return nil
		}), codemode.CodeSnapshotLimit, "", codemode.PhaseHost)
	})
}
