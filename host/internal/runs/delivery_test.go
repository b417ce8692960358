package runs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// ttl is for how long runs are kept. It is over between two sweeps of a host that starts with its
// run: expired is when the store has the run still, and swept when it has not.
const (
	ttl     = 90 * time.Second
	expired = ttl + 10*time.Second
	swept   = 3 * time.Minute
)

func echoing() Setup {
	return Setup{Store: NewKept(), Settings: codemode.Settings{SnapshotTTL: ttl}, Tools: []catalog.Tool{Echo("echo")}}
}

// yielding is a program that yields and returns what echo does.
func yielding(g *Guest) any {
	g.Yield()
	return g.Call("echo", N(1))
}

// echoes is a program that takes a second, calls echo and yields.
func echoes(g *Guest) any {
	g.Sleep(time.Second)
	g.Call("echo", N(1))
	g.Yield()
	return nil
}

func wantUnavailable(t *testing.T, r *codemode.Result) {
	t.Helper()
	WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
}

func wantBusy(t *testing.T, r *codemode.Result) {
	t.Helper()
	WantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
}

// TestAResultWaitsForItsDelivery: the result of a run that has ended outlives its host
// until it has been delivered. It belongs to the session of the run, goes to one caller
// at a time, and is gone once it has arrived.
func TestAResultWaitsForItsDelivery(t *testing.T) {
	for name, throws := range map[string]bool{"a value": false, "a failure": true} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				check := func(r *codemode.Result) {
					t.Helper()
					if throws {
						WantFailure(t, r, codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
					} else {
						WantValue(t, r, `[{"n":1},"<&>"]`)
					}
					WantTexts(t, r, "said")
					if r.Telemetry.CallCount != 1 || throws && !r.Dispatched {
						t.Errorf("got %s", Show(r))
					}
				}
				s := echoing()
				first := Start(t, s)
				id := WantWaiting(t, first.Run(func(g *Guest) any {
					v := yielding(g)
					g.Text("said")
					if throws {
						g.Throw("no")
					}
					return []any{v, "<&>"}
				}), codemode.ReasonYield)
				sent := first.Deliver(t.Context(), Me, id, 0)
				check(sent.Result)
				wantBusy(t, first.Resume(id))
				sent.Release()
				first.Shut()

				second := Start(t, s)
				WantFailure(t, second.Wait(t.Context(), codemode.Session{}, id, 0), codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput)
				again := second.Deliver(t.Context(), Me, id, 0)
				check(again.Result)
				again.Release()
				last := second.Deliver(t.Context(), Me, id, 0)
				check(last.Result)
				last.Done()
				again.Done()
				wantUnavailable(t, second.Resume(id))
				if _, err := s.Store.Ended(t.Context(), id); !errors.Is(err, runstore.ErrNotFound) {
					t.Errorf("the store keeps a delivered result: %v", err)
				}
			})
		})
	}
}

// TestAResultInGo: Wait has delivered what it returns, and takes a result that
// another process could not deliver.
func TestAResultInGo(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: []catalog.Tool{Echo("echo")}})
		id := WantWaiting(t, h.Run(yielding), codemode.ReasonYield)
		h.Deliver(t.Context(), Me, id, 0).Release()
		WantValue(t, h.Resume(id), `{"n":1}`)
		wantUnavailable(t, h.Resume(id))
	})
}

// looked is a store that tells each look of a wait after its health.
type looked struct {
	*Seam
	looks chan struct{}
}

func (s *looked) Health(context.Context) runstore.Health {
	s.looks <- struct{}{}
	return runstore.Health{State: runstore.HealthOK}
}

// TestAWaitThatMeetsTheEndOfAnother: a wait finds its run while the result for another one is
// stored, which then does not arrive. The result is there for the next wait.
func TestAWaitThatMeetsTheEndOfAnother(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := echoing()
		store := &looked{&Seam{Store: s.Store}, make(chan struct{}, 100)}
		s.Store = store
		h := Start(t, s)
		id := WantWaiting(t, h.Run(yielding), codemode.ReasonYield)
		var meets <-chan *codemode.Result
		store.End = func(ctx context.Context, c runstore.Claim, e *runstore.Ended) error {
			for len(store.looks) > 0 {
				<-store.looks
			}
			meets = Later(func() *codemode.Result { return h.Resume(id) })
			<-store.looks
			return c.End(ctx, e)
		}
		first := h.Deliver(t.Context(), Me, id, 0)
		wantBusy(t, <-meets)
		first.Release()
		WantValue(t, h.Resume(id), `{"n":1}`)
	})
}

// TestWhatBecameOfARun: a wait for a run that is gone says in the same process and in
// another what became of it and whether it had called tools, with its telemetry where
// no result had it.
func TestWhatBecameOfARun(t *testing.T) {
	expires := func(*testing.T, *Host, string) { time.Sleep(expired) }
	idle := func(g *Guest) any { g.Sleep(time.Second); g.Yield(); return nil }
	for name, tt := range map[string]struct {
		program    Program
		other      bool // asked in another process
		end        func(t *testing.T, h *Host, id string)
		reason     codemode.Reason
		say        string
		dispatched bool
	}{
		"expired after a call":       {echoes, false, expires, codemode.ReasonRunExpired, "It had called tools: find out what they did", true},
		"expired without one":        {idle, false, expires, codemode.ReasonRunExpired, "It had called no tool: start the program again.", false},
		"expired in another process": {echoes, true, expires, codemode.ReasonRunExpired, "It had called tools: find out what they did", true},
		"aborted": {echoes, false, func(t *testing.T, h *Host, id string) {
			WantFailure(t, h.Abort(t.Context(), Me, id), codemode.CodeAborted, "", codemode.PhaseHost)
		}, codemode.ReasonRunUnavailable, "It was aborted", true},
		"its session ended": {echoes, false, func(t *testing.T, h *Host, id string) {
			if n, err := h.EndSession(t.Context(), Me); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}, codemode.ReasonRunUnavailable, "It ended with its session", true},
		"it returned": {echoes, false, func(t *testing.T, h *Host, id string) {
			WantValue(t, h.Resume(id), `null`)
		}, codemode.ReasonRunUnavailable, "its last result was the final one", true},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				s := echoing()
				h := Start(t, s)
				id := WantWaiting(t, h.Run(tt.program), codemode.ReasonYield)
				if tt.other {
					h.Shut()
					h = Start(t, s)
				}
				tt.end(t, h, id)
				got := h.Resume(id)
				WantFailure(t, got, codemode.CodeInvalidInput, tt.reason, codemode.PhaseInput)
				if got.Dispatched != tt.dispatched || !strings.Contains(got.Error, tt.say) {
					t.Errorf("got %s\nwant dispatched %v and %q", Show(got), tt.dispatched, tt.say)
				}
				if got.Reason == codemode.ReasonRunExpired && (got.Telemetry.WallMillis == 0 || tt.dispatched != (got.Telemetry.CallCount == 1)) {
					t.Errorf("telemetry %+v", got.Telemetry)
				}
			})
		})
	}
}

// TestASweepEndsARunFirst: another process that shares the store deletes the run while
// this one would end it, which says nevertheless what became of it.
func TestASweepEndsARunFirst(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := echoing()
		h := Start(t, s)
		id := WantWaiting(t, h.Run(yielding), codemode.ReasonYield)
		claim, err := s.Store.Claim(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(expired)
		if err := claim.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		claim.Release()
		time.Sleep(time.Second)
		WantFailure(t, h.Resume(id), codemode.CodeInvalidInput, codemode.ReasonRunExpired, codemode.PhaseInput)
	})
}

// TestAnAbortSaysWhatTheRunHadDone: of a run of this process, and of one that only the
// store has.
func TestAnAbortSaysWhatTheRunHadDone(t *testing.T) {
	for name, other := range map[string]bool{"of this process": false, "of the store": true} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				s := echoing()
				h := Start(t, s)
				id := WantWaiting(t, h.Run(echoes), codemode.ReasonYield)
				if other {
					h.Shut()
					h = Start(t, s)
				}
				r := h.Abort(t.Context(), Me, id)
				WantFailure(t, r, codemode.CodeAborted, "", codemode.PhaseHost)
				if !r.Dispatched || r.Telemetry.CallCount != 1 || len(r.Telemetry.Isolation.Layers) == 0 {
					t.Errorf("got %s", Show(r))
				}
			})
		})
	}
}

// TestTelemetryNeverGoesBack, in one process and over several.
func TestTelemetryNeverGoesBack(t *testing.T) {
	for name, restart := range map[string]bool{"one process": false, "several": true} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				s := echoing()
				s.Approvals, s.Hooks = &policy.MemoryApprovals{}, []policy.Hook{Asks(policy.ApprovalRequest{Timeout: time.Hour}, "echo")}
				h := Start(t, s)
				r := h.RunFor(time.Second, func(g *Guest) any { return g.Call("echo", N(1)) })
				for range 3 {
					before := r
					id := WantWaiting(t, before, codemode.ReasonApproval)
					if restart {
						h.Shut()
						h = Start(t, s)
					}
					r = h.ResumeFor(id, time.Second)
					if a, b := before.Telemetry, r.Telemetry; b.WallMillis <= a.WallMillis || b.ApprovalWaitMillis <= a.ApprovalWaitMillis {
						t.Errorf("wallMs %v, then %v; approvalWaitMs %v, then %v", a.WallMillis, b.WallMillis, a.ApprovalWaitMillis, b.ApprovalWaitMillis)
					}
				}
			})
		})
	}
}

// TestAnExpiredResultSaysNothingOfCalls: a result that was not fetched in time is
// gone, and a repetition might double what its run did.
func TestAnExpiredResultSaysNothingOfCalls(t *testing.T) {
	for name, after := range map[string]time.Duration{"in the store still": expired, "swept": swept} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				s := echoing()
				first := Start(t, s)
				id := WantWaiting(t, first.Run(yielding), codemode.ReasonYield)
				sent := first.Deliver(t.Context(), Me, id, 0)
				WantValue(t, sent.Result, `{"n":1}`)
				sent.Release()
				first.Shut()
				second := Start(t, s)
				time.Sleep(after)
				r := second.Resume(id)
				if r.Status != codemode.StatusFailed || !r.Dispatched || strings.Contains(r.Error, "called no tool") {
					t.Errorf("got %s", Show(r))
				}
			})
		})
	}
}

// TestAParkedRunThatEndedElsewhereKeepsItsResult: the clock of the process that
// parked a run is not the clock of the result that another process has stored.
func TestAParkedRunThatEndedElsewhereKeepsItsResult(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := echoing()
		first := Start(t, s)
		id := WantWaiting(t, first.Run(yielding), codemode.ReasonYield)
		second := Start(t, s)
		time.Sleep(ttl - time.Second) // after the last sweep before the run expires
		sent := second.Deliver(t.Context(), Me, id, 0)
		WantValue(t, sent.Result, `{"n":1}`)
		sent.Release()
		time.Sleep(expired - ttl)
		WantValue(t, second.Resume(id), `{"n":1}`)
	})
}
