package drive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/runstore"
)

var errDisk = errors.New("input/output error")

// trapped starts a host with a run that has yielded. The store does something else when it reads
// the run the next time, once trap says what.
func trapped(t *testing.T) (h *Host, kept *Kept, id string, trap func(func() error)) {
	kept = NewKept()
	store := &Seam{Store: kept}
	h = Start(t, Setup{Store: store})
	return h, kept, WantWaiting(t, h.Run(yields), codemode.ReasonYield), func(f func() error) {
		store.Got = func(string) error {
			store.Got = nil
			return f()
		}
	}
}

func boom() error { panic("the store panics") }

// wantLost wants a run to fail because its store panicked, and to be gone.
func wantLost(t *testing.T, h *Host, do func() *codemode.Result) {
	t.Helper()
	WantFailure(t, do(), codemode.CodeInternal, "", codemode.PhaseHost)
	WantFailure(t, do(), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	wantNothing(t, h)
}

func wantNothing(t *testing.T, h *Host) {
	t.Helper()
	if taken := h.Inspect().Taken(); len(taken) != 0 {
		t.Errorf("the host still holds %v", taken)
	}
}

// TestAnAbortBesideAWaitThatFails: a run that is aborted while a Wait takes it up is
// gone, also if that Wait cannot resume it. The abort returns.
func TestAnAbortBesideAWaitThatFails(t *testing.T) {
	for name, get := range map[string]error{
		"the store fails":                errDisk,
		"the run ended in another host":  runstore.ErrEnded,
		"the run is not there any more":  runstore.ErrNotFound,
		"the run has expired in between": runstore.ErrExpired,
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				h, _, id, trap := trapped(t)
				var aborted <-chan *codemode.Result
				trap(func() error {
					aborted = Later(func() *codemode.Result { return h.Abort(t.Context(), Me, id) })
					h.Inspect().Aborted(id)
					return get
				})
				if r := h.Resume(id); r.Status != codemode.StatusFailed {
					t.Errorf("the wait: %s", Show(r))
				}
				WantFailure(t, <-aborted, codemode.CodeAborted, "", codemode.PhaseHost)
				wantNothing(t, h)
			})
		})
	}
}

// TestAStorePanicLeavesNoRunActive: a store that panics while a run is taken up, aborted or
// expires ends the run, which would be busy for ever otherwise.
func TestAStorePanicLeavesNoRunActive(t *testing.T) {
	for name, do := range map[string]func(t *testing.T){
		"in a wait": func(t *testing.T) {
			h, _, id, trap := trapped(t)
			trap(boom)
			wantLost(t, h, func() *codemode.Result { return h.Resume(id) })
		},
		"in an abort": func(t *testing.T) {
			h, _, id, _ := trapped(t)
			store := h.Store.(*Seam)
			store.Claimed = func(string) error {
				store.Claimed = nil
				return boom()
			}
			wantLost(t, h, func() *codemode.Result { return h.Abort(t.Context(), Me, id) })
		},
		"at its end": func(t *testing.T) {
			h, _, id, trap := trapped(t)
			trap(boom)
			h.Inspect().Expire(id)
			wantNothing(t, h)
			WantValue(t, h.Resume(id), `42`) // the store has it still
		},
		"in the next host": func(t *testing.T) {
			slow := NewGate()
			s := Setup{Store: NewKept(), Tools: []catalog.Tool{slow.Tool("slow")}}
			first := Start(t, s)
			id := WantWaiting(t, first.Run(func(g *Guest) any {
				slow := g.Go("slow", nil)
				g.Yield()
				return slow.Value()
			}), codemode.ReasonPendingTools)
			<-slow.Entered
			first.Shut()
			s.Store = &Seam{Store: s.Store, PutCalls: func(context.Context, runstore.Claim, uint64, []runstore.Call) error { return boom() }}
			h := Start(t, s)
			wantLost(t, h, func() *codemode.Result { return h.Resume(id) })
		},
	} {
		t.Run(name, func(t *testing.T) { InBubble(t, do) })
	}
}

// TestAWaitThatFailsBesideCloseKeepsTheRun: a run that a Wait could not take up, while
// its host closed, is there for the next host.
func TestAWaitThatFailsBesideCloseKeepsTheRun(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h, kept, id, trap := trapped(t)
		closed := make(chan struct{})
		trap(func() error {
			go func() {
				defer close(closed)
				h.Shut()
			}()
			h.Inspect().Aborted(id)
			return errDisk
		})
		if r := h.Resume(id); r.Status != codemode.StatusFailed {
			t.Errorf("the wait: %s", Show(r))
		}
		<-closed
		WantValue(t, Start(t, Setup{Store: kept}).Resume(id), `42`)
	})
}
