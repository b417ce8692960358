package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
)

// openTrajectory opens the trajectories next to the runs of a directory.
func openTrajectory(t *testing.T, dir string) *sqlite.Trajectory {
	t.Helper()
	d, err := openState(t, dir).Trajectory(trajectory.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// outline is a run without its times: segments, and calls under them.
func outline(r *trajectory.Run) []string {
	var out []string
	for _, l := range r.Segments() {
		out = append(out, strings.TrimSpace(strings.Join([]string{l.Tool, l.CallID, l.Status, l.Reason}, " ")))
		for _, c := range l.Calls {
			outcome := string(c.Outcome)
			if !c.Ended {
				outcome = "running"
			}
			out = append(out, strings.TrimSpace(strings.Join([]string{" ", c.ToolID, outcome, c.Code}, " ")))
		}
	}
	return out
}

func readTrajectory(t *testing.T, d *sqlite.Trajectory, id string) *trajectory.Run {
	t.Helper()
	r, err := d.Read(host.Session{AgentID: me.AgentID, SessionKey: me.SessionKey, SessionID: me.SessionID}, id)
	if err != nil {
		t.Fatal(err)
	}
	if r.Torn != nil {
		t.Error(r.Torn)
	}
	return r
}

// TestTrajectoryOverARestart: calls of a run are under its exec whichever host made
// them, and a call that is made again is one call.
func TestTrajectoryOverARestart(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	readOnly := func(g *gate) catalog.Tool {
		tool := g.tool("slow")
		tool.ReadOnly = true
		return tool
	}
	g, again := newGate(), newGate()
	first := start(t, host.Config{Store: openState(t, dir), Trajectory: host.TrajectoryConfig{Sink: openTrajectory(t, dir)}, Tools: []catalog.Tool{echo("echo"), readOnly(g)}, DrainTimeout: 1})
	r := first.Exec(modelCall("toolu_1"), me, host.ExecInput{Code: `await tools.echo({n: 1}); const p = tools.slow(); await yield_control(); await p; return await tools.echo({n: 2})`})
	id := wantWaiting(t, r, codemode.ReasonPendingTools)
	<-g.entered
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	close(again.open)
	d := openTrajectory(t, dir)
	second := start(t, host.Config{Store: openState(t, dir), Trajectory: host.TrajectoryConfig{Sink: d}, Tools: []catalog.Tool{echo("echo"), readOnly(again)}})
	wantValue(t, second.Wait(modelCall("toolu_2"), me, id), `{"n":2}`)

	run := readTrajectory(t, d, id)
	want := []string{
		"exec toolu_1 waiting pending_tools", "quoin:core:echo ok", "quoin:core:slow ok",
		"wait toolu_2 completed", "quoin:core:echo ok",
	}
	if diff := cmp.Diff(want, outline(run)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	for _, e := range run.Events {
		if e.ParentCallID != "toolu_1" {
			t.Errorf("%s is under %q", e.Kind, e.ParentCallID)
		}
	}
}

// TestTrajectoryOfAnAbort: a run without a driver ends in its trajectory too, in
// this process or in another.
func TestTrajectoryOfAnAbort(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	d := openTrajectory(t, dir)
	first := start(t, host.Config{Store: openState(t, dir), Trajectory: host.TrajectoryConfig{Sink: d}})
	var ids []string
	for range 2 {
		ids = append(ids, wantWaiting(t, first.Exec(modelCall("toolu_1"), me, host.ExecInput{Code: `await yield_control()`}), codemode.ReasonYield))
	}
	second := start(t, host.Config{Store: openState(t, dir), Trajectory: host.TrajectoryConfig{Sink: openTrajectory(t, dir)}})
	for i, h := range []*host.Host{first, second} {
		wantFailure(t, h.Abort(context.Background(), me, ids[i]), codemode.CodeAborted, "", codemode.PhaseHost)
		run := readTrajectory(t, d, ids[i])
		if diff := cmp.Diff([]string{"exec toolu_1 failed"}, outline(run)); diff != "" || run.Summary().Code != "aborted" {
			t.Errorf("%d: code %s, run (-want +got):\n%s", i, run.Summary().Code, diff)
		}
	}
}
