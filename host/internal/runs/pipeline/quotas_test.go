package pipeline_test

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

var alice = codemode.Session{AgentID: "agent", SessionID: "alice"}

// callsMany makes calls at once, and puts out how the first that settles ends.
func callsMany(n int, tool string) Program {
	return func(g *Guest) any {
		var all []*Promise
		for i := range n {
			all = append(all, g.Go(tool, N(i)))
		}
		g.JSON(g.Race(all...).Told())
		for _, p := range all {
			p.Told()
		}
		return "done"
	}
}

func wantSaid(t *testing.T, r *codemode.Result, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(Show(r), want) {
			t.Errorf("no %q in %s", want, Show(r))
		}
	}
}

// TestCallsInFlightAreBounded: a call beyond the share of its session is not made, and says
// what is used up; another session continues.
func TestCallsInFlightAreBounded(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow := NewGate()
		h := Start(t, Setup{Quotas: codemode.Quotas{Calls: 4}, Tools: []catalog.Tool{slow.Tool("slow"), Echo("echo")}})
		r := h.RunFor(time.Second, callsMany(3, "slow"))
		id := WantWaiting(t, r, codemode.ReasonPendingTools)
		wantSaid(t, r, `"quota_exceeded","none"`, "2 tool calls in flight and wants 1 more, but may have 2 of the host's 4", "quotas.callsInFlight")
		if n := len(slow.Entered); n != 2 {
			t.Errorf("%d calls were made, want 2", n)
		}
		WantValue(t, h.Exec(t.Context(), alice, run.Input{Code: Source(callsEcho)}), `{"n":1}`)
		close(slow.Open)
		WantValue(t, h.Resume(id), `"done"`)
		h.Inspect().Quiet(t.Context())
		if left := h.Inspect().Taken(); len(left) != 0 {
			t.Errorf("taken: %v", left)
		}
	})
}

// TestQuestionsToPeopleAreBounded: a call that needs a person beyond the share of its session is
// not made, and says why; another session asks.
func TestQuestionsToPeopleAreBounded(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		s := guarded(Echo("echo"))
		s.Quotas.SessionPercent = 1
		h := Start(t, s)
		r := h.RunFor(time.Second, callsMany(policy.DefaultMaxPending/100+1, "echo"))
		WantWaiting(t, r, codemode.ReasonApproval)
		wantSaid(t, r, `"quota_exceeded","none"`, "calls that wait for a person")
		WantWaiting(t, h.Exec(run.WithAskingCaller(t.Context()), alice, run.Input{Code: Source(callsEcho)}), codemode.ReasonApproval)
	})
}

// TestAReplyThatIsRefusedSaysWhatBecameOfTheCall: only a tool that reads is proposed to
// be called again.
func TestAReplyThatIsRefusedSaysWhatBecameOfTheCall(t *testing.T) {
	huge := `"` + strings.Repeat("x", 9<<20) + `"`
	for name, tt := range map[string]struct {
		reply            string
		reads            bool
		code, effect     string
		proposed, warned bool
	}{
		"a large one of what reads":       {huge, true, "reply_too_large", "none", true, false},
		"a large one of what has effects": {huge, false, "reply_too_large", "done", false, true},
		"no JSON of what reads":           {"{", true, "invalid_reply", "none", false, false},
		"no JSON of what has effects":     {"{", false, "invalid_reply", "unknown", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				tool := Does("tool", func(context.Context, catalog.Invocation) (json.RawMessage, error) {
					return json.RawMessage(tt.reply), nil
				})
				tool.ReadOnly = tt.reads
				r := Start(t, Setup{Tools: []catalog.Tool{tool}}).Run(func(g *Guest) any { return g.Try("tool", N(1)) })
				var said []string // message, code, effect and tool
				if err := json.Unmarshal(r.Value, &said); err != nil {
					t.Fatalf("%v in %s", err, Show(r))
				}
				if said[1] != tt.code || said[2] != tt.effect || strings.Contains(said[0], "Ask it for less") != tt.proposed || strings.Contains(said[0], "do not repeat it") != tt.warned {
					t.Errorf("got %q", said)
				}
			})
		})
	}
}
