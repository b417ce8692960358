package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
)

// tree is the run as quoin trajectory shows it.
func tree(t *testing.T, r *trajectory.Run) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteTree(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTrajectoryOfParkedCalls: calls that wait for a person or for the caller when
// their host stops have not ended. They end where they are answered.
func TestTrajectoryOfParkedCalls(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	desk := newDesk()
	cfg := kept(t, dir, desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo")))
	cfg.Trajectory.Sink = openTrajectory(t, dir)
	first := start(t, cfg)
	r := first.Exec(modelCall("toolu_1"), me, host.ExecInput{
		Wait: soon, Code: `return await Promise.all([tools.echo({n: 1}), tools.pick_file({title: "one"})])`, Tools: []catalog.Tool{picker("pick_file")},
	})
	if r.Status != host.StatusWaiting {
		t.Fatalf("got %s", show(r))
	}
	id := r.RunID
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	d := openTrajectory(t, dir)
	run := readTrajectory(t, d, id)
	if got := tree(t, run); strings.Count(got, "waiting\n") != 2 || strings.Contains(got, "aborted") {
		t.Errorf("after the first host:\n%s", got)
	}
	if s := run.Summary(); s.Failed != 0 {
		t.Errorf("%d calls have failed", s.Failed)
	}

	cfg = kept(t, dir, desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo")))
	cfg.Trajectory.Sink = d
	second := start(t, cfg)
	decide(t, second, (<-desk.asked).ID, policy.AllowOnce)
	answer(t, second, id, r.PendingToolCalls[1].ID, `"two"`)
	wantValue(t, second.Wait(modelCall("toolu_2"), me, id), `[{"n":1},"two"]`)
	got := outline(readTrajectory(t, d, id))
	slices.Sort(got[1:3]) // they were made at once
	want := []string{"exec toolu_1 waiting pending_tools", "client:client:pick_file ok", "quoin:core:echo ok", "wait toolu_2 completed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
}

// TestTrajectoryHasWhatWasSent: where hooks change an input, events have the one
// that the tool got, and say so; likewise of the program.
func TestTrajectoryHasWhatWasSent(t *testing.T) {
	t.Parallel()
	rewrite := policy.Hook{Name: "rewrite", Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
		switch c.ToolName {
		case "echo":
			return policy.Verdict{Params: json.RawMessage(`{"n":1000}`)}, nil
		case policy.ExecTool.Name:
			return policy.Verdict{Params: json.RawMessage(`{"code":"return [await tools.echo({n: 1}), await tools.same({n: 2})]"}`)}, nil
		}
		return policy.Verdict{}, nil
	}}
	var seen trajectory.Recorder
	h := start(t, host.Config{
		Tools: []catalog.Tool{echo("echo"), echo("same")}, Hooks: []policy.Hook{rewrite},
		Trajectory: host.TrajectoryConfig{Sink: &seen, Bodies: &redact.Redactor{}},
	})
	wantValue(t, exec(h, `return 0`), `[{"n":1000},{"n":2}]`)
	var got []string
	for _, e := range seen.Events("") {
		switch e.Kind {
		case trajectory.CallEnded, trajectory.RunStarted:
			line := e.ToolName + " " + string(e.Input)
			if e.Rewritten {
				line += " rewritten"
			}
			if e.Kind == trajectory.CallEnded && e.InputBytes != len(e.Input) {
				t.Errorf("%s has %d bytes", line, e.InputBytes)
			}
			got = append(got, line)
		}
	}
	want := []string{
		` {"code":"return [await tools.echo({n: 1}), await tools.same({n: 2})]","language":"javascript"} rewritten`,
		`echo {"n":1000} rewritten`, `same {"n":2}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	run := &trajectory.Run{ID: seen.Events("")[0].RunID, Events: seen.Events("")}
	if shown := tree(t, run); strings.Count(shown, "input rewritten") != 2 {
		t.Errorf("shown:\n%s", shown)
	}
}
