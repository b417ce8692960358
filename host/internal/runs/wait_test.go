package runs_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/runstore"
)

// yields is a program that yields and returns a number.
func yields(g *Guest) any {
	g.Yield()
	return 2
}

// TestWaitRefusals do not harm the run, and white space around its id is fine.
func TestWaitRefusals(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		h := Start(t, Setup{Tools: []catalog.Tool{Echo("process")}})
		id := WantWaiting(t, h.Run(yields), codemode.ReasonYield)
		but := func(change func(*codemode.Session)) codemode.Session {
			s := Me
			change(&s)
			return s
		}
		for name, tt := range map[string]struct {
			s      codemode.Session
			id     string
			reason codemode.Reason
			say    string
		}{
			"unknown":         {Me, "run_00112233445566778899aabbccddeeff", codemode.ReasonRunUnavailable, "code mode run is unavailable or expired."},
			"not a runId":     {Me, "run_0123", codemode.ReasonRunUnavailable, "code mode run is unavailable or expired. \"run_0123\" is not the id of one"},
			"a shell session": {Me, "brisk-otter", codemode.ReasonRunUnavailable, "call quoin:core:process inside exec."},
			"empty":           {Me, " ", codemode.ReasonRunUnavailable, "empty"},
			"a path":          {Me, "../../etc/passwd", codemode.ReasonRunUnavailable, "unavailable"},
			"other agent":     {but(func(s *codemode.Session) { s.AgentID = "x" }), id, codemode.ReasonWrongSession, "belongs to a different session."},
			"other key":       {but(func(s *codemode.Session) { s.SessionKey = "x" }), id, codemode.ReasonWrongSession, "belongs to a different session."},
			"other session":   {but(func(s *codemode.Session) { s.SessionID = "x" }), id, codemode.ReasonWrongSession, "belongs to a different session."},
			"no session":      {codemode.Session{}, id, codemode.ReasonWrongSession, "belongs to a different session."},
			"other turn":      {but(func(s *codemode.Session) { s.TurnID = "x" }), id, codemode.ReasonWrongRun, "different agent run."},
		} {
			r := h.Wait(t.Context(), tt.s, tt.id, 0)
			if r.Code != codemode.CodeInvalidInput || r.Reason != tt.reason || r.Phase != codemode.PhaseInput || !strings.Contains(r.Error, tt.say) {
				t.Errorf("%s: got %s\nwant the reason %s and %q", name, Show(r), tt.reason, tt.say)
			}
		}
		WantValue(t, h.Resume(" "+id+"\n"), `2`)
	})
}

// TestSecondWaitIsBusy: one caller drives a run.
func TestSecondWaitIsBusy(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{Tools: []catalog.Tool{slow.Tool("slow")}})
		id := WantWaiting(t, h.Run(func(g *Guest) any {
			g.Yield()
			return callsSlow(g)
		}), codemode.ReasonYield)
		first := Later(func() *codemode.Result { return h.Resume(id) })
		<-slow.Entered // the first wait drives the run
		wantBusy(t, h.Resume(id))
		close(slow.Open)
		WantValue(t, <-first, `"through"`)
	})
}

// goneStore is a store that may be away. While it is, what asks it hangs.
type goneStore struct {
	*Seam
	state atomic.Pointer[runstore.HealthState]
}

func (s *goneStore) becomes(state runstore.HealthState) { s.state.Store(&state) }

func (s *goneStore) Health(context.Context) runstore.Health {
	return runstore.Health{State: *s.state.Load()}
}

func (s *goneStore) hang(string) error {
	if !s.state.Load().Works() {
		select {}
	}
	return nil
}

// TestAStoreThatIsGoneIsNotAsked: a program that would be suspended and a wait for a stored
// run fail before they ask a store that is known to be away, and before the program makes its
// effects. A run from before resumes later.
func TestAStoreThatIsGoneIsNotAsked(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		store := &goneStore{Seam: &Seam{Store: &runstore.Memory{}}}
		store.Got, store.Claimed = store.hang, store.hang
		store.Created = func(context.Context, *runstore.Record) error { return store.hang("") }
		store.becomes(runstore.HealthOK)
		h := Start(t, Setup{Store: store})
		before := WantWaiting(t, h.Run(yields), codemode.ReasonYield)
		for _, state := range []runstore.HealthState{runstore.HealthGone, runstore.HealthReadOnly} {
			store.becomes(state)
			WantValue(t, h.Run(one), "1")
			for what, res := range map[string]*codemode.Result{"exec": h.Exec(t.Context(), Me, run.Input{Code: "await yield_control()"}), "wait": h.Resume(before)} {
				WantFailure(t, res, codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
				if !strings.Contains(res.Error, "Try again later") {
					t.Errorf("%s does not say what to do: %s", what, res.Error)
				}
				if what == "exec" && !strings.Contains(res.Error, "was not started, because it has yield_control in it") {
					t.Errorf("exec does not say why: %s", res.Error)
				}
				if kept := strings.Contains(res.Error, "The run is kept as it was"); kept != (what == "wait") {
					t.Errorf("%s says that the run is kept: %t", what, kept)
				}
			}
		}
		if n := h.Guests.Count("start"); n != 3 {
			t.Errorf("%d programs were started, want one from before and two that do not yield", n)
		}
		store.becomes(runstore.HealthSlow)
		WantValue(t, h.Resume(before), "2")
	})
}
