package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

func TestWaitRefusals(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("process")}})
	id := wantWaiting(t, exec(h, `await yield_control(); return 42`), codemode.ReasonYield)
	for _, tc := range []struct {
		name   string
		s      host.Session
		id     string
		reason codemode.Reason
		say    string
	}{
		{"unknown", me, "run_00112233445566778899aabbccddeeff", codemode.ReasonRunUnavailable, "code mode run is unavailable or expired."},
		{"not a runId", me, "run_0123", codemode.ReasonRunUnavailable, "code mode run is unavailable or expired. \"run_0123\" is not the id of one"},
		{"a shell session", me, "brisk-otter", codemode.ReasonRunUnavailable, "call quoin:core:process inside exec."},
		{"empty", me, " ", codemode.ReasonRunUnavailable, "empty"},
		{"a path", me, "../../etc/passwd", codemode.ReasonRunUnavailable, "unavailable"},
		{"other agent", host.Session{AgentID: "x", SessionKey: "key", SessionID: "session", TurnID: "turn"}, id, codemode.ReasonWrongSession, "belongs to a different session."},
		{"other key", host.Session{AgentID: "agent", SessionKey: "x", SessionID: "session", TurnID: "turn"}, id, codemode.ReasonWrongSession, "belongs to a different session."},
		{"other session", host.Session{AgentID: "agent", SessionKey: "key", SessionID: "x", TurnID: "turn"}, id, codemode.ReasonWrongSession, "belongs to a different session."},
		{"no session", host.Session{}, id, codemode.ReasonWrongSession, "belongs to a different session."},
		{"other turn", host.Session{AgentID: "agent", SessionKey: "key", SessionID: "session", TurnID: "x"}, id, codemode.ReasonWrongRun, "different agent run."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.Wait(context.Background(), tc.s, tc.id)
			wantFailure(t, r, codemode.CodeInvalidInput, tc.reason, codemode.PhaseInput)
			if !strings.Contains(r.Error, tc.say) {
				t.Errorf("error %q does not say %q", r.Error, tc.say)
			}
		})
	}
	// None of the refusals harmed the run, and white space around the id is fine.
	wantValue(t, h.Wait(context.Background(), me, " "+id+"\n"), `42`)
}

func TestSecondWaitIsBusy(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}})
	id := wantWaiting(t, exec(h, `await yield_control(); return await tools.slow()`), codemode.ReasonYield)
	first := make(chan *host.Result)
	go func() { first <- h.Wait(context.Background(), me, id) }()
	<-g.entered // the first wait drives the run
	wantFailure(t, h.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput)
	close(g.open)
	wantValue(t, <-first, `"through"`)
}
