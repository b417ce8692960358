package trajectory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
)

const runID = "run_1"

var (
	ada   = codemode.Session{AgentID: "agent", SessionID: "ada", TurnID: "turn"}
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// at makes an event of ada's run, so many milliseconds after epoch.
func at(ms int, e trajectory.Event) trajectory.Event {
	e.RunID, e.Session, e.ParentCallID = runID, ada, "toolu_1"
	e.Time = epoch.Add(time.Duration(ms) * time.Millisecond)
	return e
}

// took gives an ended event its start.
func took(ms int, e trajectory.Event) trajectory.Event {
	e.Duration = time.Duration(ms) * time.Millisecond
	e.Start = e.Time.Add(-e.Duration)
	return e
}

// story is a run with an exec and a wait, calls that end in the segment after their own,
// fail, never end, and wait for a decision.
func story() []trajectory.Event {
	list := trajectory.Event{CallID: "bridge:namespace:1", Method: "namespace", Via: "Issues.list", ToolID: "quoin:issues:issues_list", ToolName: "issues_list", Source: "quoin", Owner: "issues", InputBytes: 16}
	slow := trajectory.Event{CallID: "bridge:call:2", Method: "call", ToolID: "quoin:core:slow tool", ToolName: "slow tool", Source: "quoin", Owner: "core", InputBytes: 2}
	lost := trajectory.Event{CallID: "bridge:call:4", Method: "call", ToolID: "quoin:core:lost", ToolName: "lost", Source: "quoin", Owner: "core"}
	as := func(e trajectory.Event, k trajectory.Kind) trajectory.Event { e.Kind = k; return e }
	ended := func(e trajectory.Event, o trajectory.Outcome, code string, size int) trajectory.Event {
		e.Kind, e.Outcome, e.Code, e.OutputBytes = trajectory.CallEnded, o, code, size
		return e
	}
	decided := as(slow, trajectory.ApprovalDecided)
	decided.ApprovalID, decided.Decision, decided.By = "apr_1", "allow-once", "bob"
	asked := as(slow, trajectory.ApprovalRequested)
	asked.ApprovalID = "apr_1"
	unknown := ended(lost, trajectory.OutcomeUnknown, "interrupted", 0)
	unknown.EffectStatus = "unknown"
	return []trajectory.Event{
		at(0, trajectory.Event{Kind: trajectory.RunStarted, CallID: "toolu_1", Language: "javascript", InputBytes: 120}),
		at(1, as(list, trajectory.CallStarted)),
		at(2, as(slow, trajectory.CallStarted)),
		at(3, asked),
		took(3, at(4, ended(list, trajectory.OutcomeOK, "", 90))),
		took(1, at(5, trajectory.Event{Kind: trajectory.CallEnded, CallID: "bridge:search:3", Method: "search", Outcome: trajectory.OutcomeOK, InputBytes: 4, OutputBytes: 50})),
		at(6, as(lost, trajectory.CallStarted)),
		took(10, at(10, trajectory.Event{Kind: trajectory.RunSuspended, CallID: "toolu_1", Status: "waiting", Reason: "approval", SnapshotBytes: 3000})),
		at(500, decided),
		at(600, trajectory.Event{Kind: trajectory.RunResumed, CallID: "toolu_2", Start: epoch.Add(590 * time.Millisecond)}),
		at(601, as(slow, trajectory.CallProgress)),
		took(600, at(602, ended(slow, trajectory.OutcomeError, "tool_error", 20))),
		took(0, at(603, unknown)),
		took(20, at(610, trajectory.Event{Kind: trajectory.RunEnded, CallID: "toolu_2", Status: "failed", Code: "internal_error", Reason: "nested_tool_failed", OutputBytes: 7})),
	}
}

func openDir(t testing.TB, o trajectory.DirOptions) (*trajectory.Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trajectory")
	d, err := trajectory.OpenDir(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, path
}

func record(t testing.TB, s trajectory.Sink, list ...trajectory.Event) {
	t.Helper()
	for _, e := range list {
		if err := s.Record(e); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, d *trajectory.Dir) *trajectory.Run {
	t.Helper()
	r, err := d.Read(ada, runID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// edit changes the file of the run.
func edit(t testing.TB, dir string, change func([]byte) []byte) {
	t.Helper()
	name := filepath.Join(dir, runID+".jsonl")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
