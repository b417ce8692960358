package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
)

// events is a sink that keeps what it is given.
type events struct {
	mu   sync.Mutex
	list []trajectory.Event
}

func (s *events) Record(e trajectory.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, e)
	return nil
}

func (s *events) all() []trajectory.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// of returns the events of one kind.
func (s *events) of(k trajectory.Kind) []trajectory.Event {
	return slices.DeleteFunc(s.all(), func(e trajectory.Event) bool { return e.Kind != k })
}

// brief is an event without its times and sizes.
type brief struct {
	Kind                           trajectory.Kind
	Parent, Call, Tool, Via, Owner string
	Outcome                        trajectory.Outcome
	Status, Reason, Code, Effect   string
}

func briefs(list []trajectory.Event) []brief {
	out := make([]brief, 0, len(list))
	for _, e := range list {
		out = append(out, brief{e.Kind, e.ParentCallID, e.CallID, e.ToolID, e.Via, e.Owner, e.Outcome, e.Status, e.Reason, e.Code, e.EffectStatus})
	}
	return out
}

func modelCall(id string) context.Context { return host.WithToolCallID(context.Background(), id) }

// TestEventsOfARun follows a cell from exec over a wait to its end. Each nested
// call is under the exec that started it.
func TestEventsOfARun(t *testing.T) {
	t.Parallel()
	sink := &events{}
	h := start(t, host.Config{Trajectory: host.TrajectoryConfig{Sink: sink}, Tools: []catalog.Tool{echo("echo")}})
	code := `await tools.search("echo"); await tools.echo({n: 1}); await yield_control(); try { await tools.call("nope", {}) } catch {} return await tools.echo({n: 2})`
	r := h.Exec(modelCall("toolu_1"), me, host.ExecInput{Code: code})
	id := wantWaiting(t, r, codemode.ReasonYield)
	wantValue(t, h.Wait(modelCall("toolu_2"), me, id), `{"n":2}`)

	echoed := brief{Parent: "toolu_1", Tool: "quoin:core:echo", Owner: "core"}
	with := func(b brief, k trajectory.Kind, call string, o trajectory.Outcome) brief {
		b.Kind, b.Call, b.Outcome = k, call, o
		return b
	}
	want := []brief{
		{Kind: trajectory.RunStarted, Parent: "toolu_1", Call: "toolu_1"},
		{Kind: trajectory.CallEnded, Parent: "toolu_1", Call: "bridge:search:1", Outcome: trajectory.OutcomeOK},
		with(echoed, trajectory.CallStarted, "bridge:call:2", ""),
		with(echoed, trajectory.CallEnded, "bridge:call:2", trajectory.OutcomeOK),
		{Kind: trajectory.RunSuspended, Parent: "toolu_1", Call: "toolu_1", Status: "waiting", Reason: "yield"},
		{Kind: trajectory.RunResumed, Parent: "toolu_1", Call: "toolu_2"},
		{Kind: trajectory.CallEnded, Parent: "toolu_1", Call: "bridge:call:4", Outcome: trajectory.OutcomeError, Code: "unknown_tool"},
		with(echoed, trajectory.CallStarted, "bridge:call:5", ""),
		with(echoed, trajectory.CallEnded, "bridge:call:5", trajectory.OutcomeOK),
		{Kind: trajectory.RunEnded, Parent: "toolu_1", Call: "toolu_2", Status: "completed"},
	}
	got := sink.all()
	if d := cmp.Diff(want, briefs(got)); d != "" {
		t.Fatalf("events (-want +got):\n%s", d)
	}
	for i, e := range got {
		if e.RunID != id || e.Session != (host.Session{AgentID: "agent", SessionKey: "key", SessionID: "session", TurnID: "turn"}) {
			t.Errorf("event %d belongs to run %s of %+v", i, e.RunID, e.Session)
		}
		if e.Seq != uint64(i+1) || e.Time.IsZero() || e.Input != nil || e.Output != nil {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if call := got[3]; call.InputBytes != len(`{"n":1}`) || call.OutputBytes != len(`{"n":1}`) || call.Start.IsZero() || call.Duration <= 0 {
		t.Errorf("ended call: %+v", call)
	}
	if first, last := got[0], got[9]; first.InputBytes != len(code) || last.OutputBytes != len(`{"n":2}`) || last.Duration <= 0 {
		t.Errorf("run: %+v\n%+v", first, last)
	}
}

// TestBodiesAreRedacted opts in to bodies.
func TestBodiesAreRedacted(t *testing.T) {
	t.Parallel()
	sink := &events{}
	login := echo("login")
	login.Parameters = json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"answer":{"type":"string","format":"password"}}}`)
	login.Output = json.RawMessage(`{"type":"object","properties":{"user":{"writeOnly":true}}}`)
	h := start(t, host.Config{Trajectory: host.TrajectoryConfig{Sink: sink, Bodies: &redact.Redactor{}}, Tools: []catalog.Tool{login}})
	r := h.Exec(context.Background(), me, host.ExecInput{Title: "log in", Code: `return await tools.login({user: "ada", password: "s3cret", answer: "blue"})`})
	wantValue(t, r, `{"user":"ada","password":"s3cret","answer":"blue"}`)
	var bodies [][2]string
	for _, e := range sink.all() {
		bodies = append(bodies, [2]string{string(e.Input), string(e.Output)})
	}
	want := [][2]string{
		{`{"code":"return await tools.login({user: \"ada\", password: \"[redacted]\", answer: \"blue\"})","language":"javascript","title":"log in"}`, ""},
		{`{"answer":"[redacted]","password":"[redacted]","user":"ada"}`, ""},
		{`{"answer":"[redacted]","password":"[redacted]","user":"ada"}`, `{"answer":"blue","password":"[redacted]","user":"[redacted]"}`},
		{"", `{"answer":"blue","password":"[redacted]","user":"ada"}`},
	}
	if d := cmp.Diff(want, bodies); d != "" {
		t.Errorf("bodies (-want +got):\n%s", d)
	}
}

// TestApprovalsAreEvents: a call tells that it waits for a decision, and who decided.
func TestApprovalsAreEvents(t *testing.T) {
	t.Parallel()
	sink, desk := &events{}, newDesk()
	cfg := desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{Title: "Echo?", Description: "hunter2"}, "echo"))
	cfg.Trajectory.Sink = sink
	h := start(t, cfg)
	done := execLater(h, host.ExecInput{Code: `return await tools.echo({n: 1})`})
	asked := <-desk.asked
	decide(t, h, asked.ID, policy.AllowOnce)
	wantValue(t, <-done, `{"n":1}`)
	type told struct {
		Kind                         trajectory.Kind
		Call, Tool, ID, Decision, By string
	}
	var got []told
	for _, e := range sink.all() {
		if e.CallID == "bridge:call:1" {
			got = append(got, told{e.Kind, e.CallID, e.ToolID, e.ApprovalID, e.Decision, e.By})
		}
	}
	const call, tool = "bridge:call:1", "quoin:core:echo"
	want := []told{
		{trajectory.CallStarted, call, tool, "", "", ""},
		{trajectory.ApprovalRequested, call, tool, asked.ID, "", ""},
		{trajectory.ApprovalDecided, call, tool, asked.ID, "allow-once", "alice"},
		{trajectory.CallEnded, call, tool, "", "", ""},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}
