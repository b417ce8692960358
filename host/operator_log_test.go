package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

func (l *logged) jsonLogger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lines returns the lines without their times and random ids.
func (l *logged) lines(t *testing.T) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(l.text()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, "time")
		for _, key := range []string{"took", "run", "approval"} {
			if m[key] != nil {
				delete(m, key)
				m["has "+key] = true
			}
		}
		out = append(out, m)
	}
	return out
}

// TestTheLogTellsTheStory: what an operator follows is at the level info, with ids and
// codes and no text of programs, tools or callers.
func TestTheLogTellsTheStory(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-3f9a"
	fails := catalog.Tool{Name: "fails", Description: "Fails.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return nil, errors.New("no luck with " + secret)
	}}
	log, desk := &logged{}, newDesk()
	cfg := desk.config([]catalog.Tool{fails, echo("echo")}, asks(policy.ApprovalRequest{Title: secret}, "echo"))
	cfg.Logger, cfg.Settings.OnOutputLimit, cfg.Settings.MaxOutput = log.jsonLogger(), codemode.OutputTruncate, 1024
	h := start(t, cfg)

	exec(h, `throw new Error("`+secret+`")`)
	exec(h, `try { await tools.fails({password: "`+secret+`"}) } catch {}`)
	done := execLater(h, host.ExecInput{Code: `return await tools.echo({v: "` + secret + `"})`})
	select {
	case a := <-desk.asked:
		decide(t, h, a.ID, policy.AllowOnce)
	case r := <-done:
		t.Fatalf("the call did not wait for a decision: %s", show(r))
	}
	<-done
	exec(h, `return "`+secret+`".repeat(1000)`)
	h.Wait(context.Background(), me, "run_0123456789abcdef0123456789abcdef")

	who := map[string]any{"agent": "agent", "sessionKey": "key", "session": "session"}
	line := func(message string, more map[string]any) map[string]any {
		m := map[string]any{"level": "INFO", "msg": message}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	with := func(more map[string]any) map[string]any {
		for k, v := range who {
			more[k] = v
		}
		return more
	}
	want := []map[string]any{
		line("run failed", with(map[string]any{"has run": true, "code": "program_error", "phase": "guest", "reason": "guest_exception"})),
		line("tool call failed", map[string]any{"has run": true, "has took": true, "call": "bridge:call:1", "tool": "quoin:core:fails", "code": "tool_error"}),
		line("approval requested", with(map[string]any{"has run": true, "has approval": true, "tool": "quoin:core:echo"})),
		line("approval decided", with(map[string]any{"has run": true, "has approval": true, "tool": "quoin:core:echo", "decision": "allow-once", "by": "alice"})),
		line("limit hit", map[string]any{"has run": true, "limit": "output_bytes"}),
		line("call of a model refused", with(map[string]any{"tool": "wait", "code": "invalid_input", "reason": "run_unavailable"})),
	}
	if d := cmp.Diff(want, log.lines(t)); d != "" {
		t.Errorf("log (-want +got):\n%s", d)
	}
	page, err := os.ReadFile("../docs/guide/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range want {
		if !strings.Contains(string(page), "`"+m["msg"].(string)+"`") {
			t.Errorf("docs/guide/observability.md does not name the message %q", m["msg"])
		}
	}
	if strings.Contains(log.text(), secret) {
		t.Errorf("the log has what a program, a tool or a caller said:\n%s", log.text())
	}
}

// TestAResultThatWaitedIsNoRefusal: a wait may get a result without a run to drive.
func TestAResultThatWaitedIsNoRefusal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, kept(t, dir, host.Config{}))
	id := wantWaiting(t, exec(first, `await yield_control(); throw new Error("no")`), codemode.ReasonYield)
	first.Deliver(t.Context(), me, id, 0).Release()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	second := start(t, kept(t, dir, host.Config{Logger: log.jsonLogger()}))
	wantFailure(t, second.Wait(t.Context(), me, id), codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
	if got := log.text(); got != "" {
		t.Errorf("the log says %s", got)
	}
}

// TestAShutdownSaysWhatItKeeps counts the runs that the next host finds.
func TestAShutdownSaysWhatItKeeps(t *testing.T) {
	t.Parallel()
	log := &logged{}
	h := start(t, kept(t, t.TempDir(), host.Config{Logger: log.jsonLogger()}))
	for range 3 {
		wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield)
	}
	if err := h.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{"level": "INFO", "msg": "suspended runs are kept for the next host of this store", "runs": 3.0}}
	if d := cmp.Diff(want, log.lines(t)); d != "" {
		t.Errorf("log (-want +got):\n%s", d)
	}
}
