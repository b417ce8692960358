package drive_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/policy"
)

// computes is a program that computes for so long.
func computes(d time.Duration) Program {
	return func(g *Guest) any {
		g.Compute(d)
		return 1
	}
}

// TestACallerCannotExtendTheTimeLimit: what a caller asks for shortens the operator's
// limits, and never extends them. The failure says which limit it was.
func TestACallerCannotExtendTheTimeLimit(t *testing.T) {
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		in   run.Input
		want time.Duration
		say  string
	}{
		"a day":    {run.Input{Timeout: day, Wait: day}, 10 * time.Second, "A program may compute for 10s in one go (tools.codeMode.timeoutMs)."},
		"nothing":  {run.Input{}, 10 * time.Second, "A program may compute for 10s in one go"},
		"a second": {run.Input{Timeout: time.Second}, time.Second, "This program was given 1s to compute in one go; the setting tools.codeMode.timeoutMs allows 10s."},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{})
				WantTook(t, tt.want, func() {
					r := h.RunIn(t.Context(), tt.in, computes(time.Hour))
					WantFailure(t, r, codemode.CodeTimeout, "", codemode.PhaseGuest)
					if !strings.Contains(r.Error, tt.say) {
						t.Errorf("error %q, want %q", r.Error, tt.say)
					}
				})
			})
		})
	}
}

// TestACallerCannotExtendItsWait: an exec and a wait take no longer than the operator allows.
func TestACallerCannotExtendItsWait(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		const day = 24 * time.Hour
		h := Start(t, Setup{Settings: codemode.Settings{Wait: time.Minute}, Tools: []catalog.Tool{NewGate().Tool("never")}})
		var id string
		WantTook(t, time.Minute, func() {
			id = WantWaiting(t, h.RunFor(day, func(g *Guest) any { return g.Call("never", nil) }), codemode.ReasonPendingTools)
		})
		WantTook(t, time.Minute, func() { WantWaiting(t, h.ResumeFor(id, day), codemode.ReasonPendingTools) })
		WantTook(t, time.Second, func() { WantWaiting(t, h.ResumeFor(id, time.Second), codemode.ReasonPendingTools) })
	})
}

// TestWaitingIsNotComputing: neither limit counts as the other. A program that waits longer
// than it may compute continues, and one that computes when its caller's time is over is not
// ended by that.
func TestWaitingIsNotComputing(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{Settings: codemode.Settings{Timeout: time.Second}, Tools: []catalog.Tool{slow.Tool("slow")}})
		WantValue(t, h.Run(func(g *Guest) any {
			g.Sleep(time.Minute)
			g.Compute(time.Second - 1)
			g.Sleep(time.Minute)
			g.Compute(time.Second - 1)
			return 1
		}), `1`)
		var id string
		WantTook(t, 900*time.Millisecond, func() {
			id = WantWaiting(t, h.RunFor(1, func(g *Guest) any {
				g.Compute(900 * time.Millisecond)
				g.Call("slow", nil)
				return 2
			}), codemode.ReasonPendingTools)
		})
		close(slow.Open)
		WantValue(t, h.Resume(id), `2`)
	})
}

// TestAWaitGetsOnHoweverShort: a caller who has left already still gets its program to the end.
func TestAWaitGetsOnHoweverShort(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: []catalog.Tool{Does("echo", func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return c.Input, nil
		})}})
		r := h.RunFor(1, func(g *Guest) any {
			for i := range 5 {
				g.Call("echo", N(i))
			}
			return 10
		})
		gone, leave := context.WithCancel(t.Context())
		leave()
		for range 20 {
			if r.Status != codemode.StatusWaiting {
				break
			}
			time.Sleep(time.Second)
			d := h.Deliver(gone, Me, r.RunID, 0)
			d.Done()
			r = d.Result
		}
		WantValue(t, r, `10`)
	})
}

// TestTheDeadlineOfACaller: a caller with a deadline in its context gets its result before
// the deadline, by a tenth of its time and at most by a second, so that the run is not lost.
func TestTheDeadlineOfACaller(t *testing.T) {
	for _, tt := range []struct{ deadline, want time.Duration }{
		{10 * time.Minute, 10*time.Minute - time.Second},
		{5 * time.Second, 4500 * time.Millisecond},
		{time.Hour, 15 * time.Minute}, // the setting is shorter
	} {
		t.Run(tt.deadline.String(), func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				slow := NewGate()
				h := Start(t, Setup{Tools: []catalog.Tool{slow.Tool("slow")}})
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				var id string
				WantTook(t, tt.want, func() {
					id = WantWaiting(t, h.RunIn(ctx, run.Input{}, func(g *Guest) any { return g.Call("slow", nil) }), codemode.ReasonPendingTools)
				})
				close(slow.Open)
				WantValue(t, h.Resume(id), `"through"`)
			})
		})
	}
}

// TestALongToolTakesFewTurns: a model with a program that waits 24 minutes for a tool comes
// back twice at the most, and has the result in the moment in which the tool has ended.
func TestALongToolTakesFewTurns(t *testing.T) {
	const took = 24 * time.Minute
	for name, tt := range map[string]struct {
		first time.Duration // how long the caller waits for exec
		turns int
	}{
		"in process":                        {0, 2},
		"a client that gives up after 60 s": {45 * time.Second, 3},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h := Start(t, Setup{Tools: []catalog.Tool{Does("build", func(context.Context, catalog.Invocation) (json.RawMessage, error) {
					time.Sleep(took)
					return json.RawMessage(`"built"`), nil
				})}})
				WantTook(t, took, func() {
					r, turns := h.RunFor(tt.first, func(g *Guest) any { return g.Call("build", nil) }), 1
					for ; r.Status == codemode.StatusWaiting; turns++ {
						if r.Reason != codemode.ReasonPendingTools || r.RetryAfter <= 0 || r.RetryAfter > 5*time.Minute {
							t.Errorf("turn %d: %s", turns, Show(r))
						}
						r = h.Resume(r.RunID)
					}
					WantValue(t, r, `"built"`)
					if turns != tt.turns {
						t.Errorf("%d turns, want %d", turns, tt.turns)
					}
				})
			})
		})
	}
}

// TestAQuestionIsToldOnce: exec returns when people have been asked for a while, and the wait after
// it takes as long as they do.
func TestAQuestionIsToldOnce(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: []catalog.Tool{Echo("echo")}, Hooks: []policy.Hook{Asks(policy.ApprovalRequest{Timeout: time.Hour}, "echo")}})
		var id string
		WantTook(t, 10*time.Second, func() {
			id = WantWaiting(t, h.Run(func(g *Guest) any { return g.Call("echo", N(1)) }), codemode.ReasonApproval)
		})
		WantTook(t, 10*time.Minute, func() { WantWaiting(t, h.ResumeFor(id, 10*time.Minute), codemode.ReasonApproval) })
		waits := Later(func() *codemode.Result { return h.Resume(id) })
		time.Sleep(time.Minute)
		WantTook(t, 0, func() {
			h.Decide((<-h.Asked).ID, policy.AllowOnce)
			WantValue(t, <-waits, `{"n":1}`)
		})
	})
}
