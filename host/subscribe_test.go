package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// many is a cell that makes so many calls, one after the other.
func many(n int) host.ExecInput {
	return host.ExecInput{Code: fmt.Sprintf(`for (let i = 0; i < %d; i++) await tools.echo({}); return 1`, n)}
}

// TestSubscribe has one reader that keeps up, and one that does not read before the
// run is over. The first gets everything; the second is told how much it missed, in
// the place of what it missed. Neither stops the run.
func TestSubscribe(t *testing.T) {
	hosttest.Serial(t, "its quick reader has to keep up with the host, for which it needs a processor")
	const calls = 2000
	h := start(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{echo("echo")}})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	quick, slow := h.Follow(ctx, host.EventFilter{All: true, OwnHost: true}), h.Follow(ctx, host.EventFilter{All: true, OwnHost: true})
	all := make(chan int)
	go func() {
		n, last := 0, uint64(0)
		for e := range quick {
			if e.Kind == trajectory.Gap || e.Seq <= last {
				t.Errorf("after %d: %+v", last, e)
			}
			n, last = n+1, e.Seq
			if e.Kind == trajectory.RunEnded {
				break
			}
		}
		all <- n
	}()
	wantValue(t, h.Exec(context.Background(), me, many(calls)), `1`)
	const made = 2 + 2*calls // run_started, run_ended; each call starts and ends
	if n := <-all; n != made {
		t.Errorf("the quick reader got %d of %d events", n, made)
	}
	read, missed, gaps := 0, 0, 0
	for e := range slow {
		if e.Kind != trajectory.Gap {
			read++
			if e.Seq != uint64(read+missed) {
				t.Fatalf("event %d came after %d read and %d missed", e.Seq, read, missed)
			}
		} else {
			missed, gaps = missed+e.Missed, gaps+1
		}
		if read+missed == made {
			break
		}
	}
	if missed == 0 || gaps != 1 {
		t.Errorf("%d read, %d missed in %d gaps", read, missed, gaps)
	}
	want := fmt.Sprintf("# HELP quoin_subscriber_events_missed_total Events that a subscriber was too slow for.\n# TYPE quoin_subscriber_events_missed_total counter\nquoin_subscriber_events_missed_total %d\n", missed)
	if err := testutil.GatherAndCompare(h.Metrics(), strings.NewReader(want), "quoin_subscriber_events_missed_total"); err != nil {
		t.Error(err)
	}

	// A reader that goes away is forgotten; the channels of the others end with the
	// host, once they have taken what was left.
	gone, leave := context.WithCancel(context.Background())
	left := h.Follow(gone, host.EventFilter{All: true, OwnHost: true})
	leave()
	if _, more := <-left; more {
		t.Error("a reader that left got an event")
	}
	wantValue(t, exec(h, `return 2`), `2`)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	rest := 0
	for range slow {
		rest++
	}
	if rest != 2 {
		t.Errorf("%d events were left, want 2", rest)
	}
	if _, more := <-h.Follow(context.Background(), host.EventFilter{All: true, OwnHost: true}); more {
		t.Error("a closed host has events")
	}
}

// TestProgressIsAnEvent: interim results of a tool are told while it runs.
func TestProgressIsAnEvent(t *testing.T) {
	t.Parallel()
	sink := &events{}
	steps := echo("steps")
	steps.Invoke = func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		for i := range 1500 {
			c.Progress(json.RawMessage(fmt.Sprint(i)))
		}
		return json.RawMessage(`1`), nil
	}
	h := start(t, host.Config{Trajectory: host.TrajectoryConfig{Sink: sink}, Tools: []catalog.Tool{steps}})
	wantValue(t, exec(h, `return await tools.steps({})`), `1`)
	progress := sink.of(trajectory.CallProgress)
	// A machine that is slow lets more of them through.
	if len(progress) < 100 || len(progress) > 1000 || progress[0].ToolID != "quoin:core:steps" || progress[99].OutputBytes != 2 {
		t.Errorf("%d events of progress, want the first 100 and not all", len(progress))
	}
}

// TestProgressOfAPluginIsAnEvent follows what a plugin reports from its process to
// those who watch, and finds nothing of it in the result.
func TestProgressOfAPluginIsAnEvent(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: pluginDir(t, "rude")}, Trajectory: host.TrajectoryConfig{Bodies: &redact.Redactor{}}})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	feed := h.Follow(ctx, host.EventFilter{All: true, OwnHost: true})
	r := exec(h, `return await Rude.slow({steps: 4, millis: 0})`)
	wantValue(t, r, `{"done":"4 steps"}`)
	if len(r.Output) != 0 {
		t.Errorf("output: %s", show(r))
	}
	var got []string
	for e := range feed {
		if e.Kind == trajectory.CallProgress {
			got = append(got, fmt.Sprintf("%v %s %s %s %s", e.Progress, e.Message, e.ToolID, e.Via, e.Output))
		}
		if e.Kind == trajectory.RunEnded {
			break
		}
	}
	var want []string
	for i, share := range []string{"0.25", "0.5", "0.75", "1"} {
		want = append(want, fmt.Sprintf(`%s step %d quoin:rude:rude_slow Rude.slow {"done":%d,"message":"step %d","total":4}`, share, i+1, i+1, i+1))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAProgramsExceptionIsNoFaultOfTheHost: the result has the code internal_error, and what
// operators look at says program_error, also of a tool's error that no one has caught.
func TestAProgramsExceptionIsNoFaultOfTheHost(t *testing.T) {
	t.Parallel()
	sink := &events{}
	h := start(t, host.Config{Trajectory: host.TrajectoryConfig{Sink: sink}, Tools: []catalog.Tool{failing("fails", "no")}})
	wantFailure(t, exec(h, `throw new Error("no")`), codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
	wantFailure(t, exec(h, `await tools.fails()`), codemode.CodeInternal, codemode.ReasonNestedTool, codemode.PhaseBridge)
	for _, e := range sink.of(trajectory.RunEnded) {
		if e.Code != "program_error" {
			t.Errorf("the event has the code %q", e.Code)
		}
	}
	want := "# HELP quoin_runs_ended_total Runs that have ended, by the code of their result, which is completed or the code of the failure; program_error for an exception of the program.\n" +
		"# TYPE quoin_runs_ended_total counter\nquoin_runs_ended_total{code=\"program_error\"} 2\n"
	if err := testutil.GatherAndCompare(h.Metrics(), strings.NewReader(want), "quoin_runs_ended_total"); err != nil {
		t.Error(err)
	}
}

// broken is a sink with a full disk.
type broken struct{}

func (broken) Record(trajectory.Event) error { return errors.New("no space left on device") }

// TestAFailingSinkStopsNothing: the run continues, and the failure is counted.
func TestAFailingSinkStopsNothing(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Trajectory: host.TrajectoryConfig{Sink: broken{}}, Tools: []catalog.Tool{echo("echo")}})
	wantValue(t, exec(h, `return await tools.echo({n: 1})`), `{"n":1}`)
	want := "# HELP quoin_trajectory_failures_total Events that the trajectory sink did not take.\n# TYPE quoin_trajectory_failures_total counter\nquoin_trajectory_failures_total 4\n"
	if err := testutil.GatherAndCompare(h.Metrics(), strings.NewReader(want), "quoin_trajectory_failures_total"); err != nil {
		t.Error(err)
	}
}

// TestMetrics drives a host through what it counts.
func TestMetrics(t *testing.T) {
	t.Parallel()
	config := host.Config{Settings: host.Settings{MaxOutput: 1 << 10}, Tools: []catalog.Tool{echo("echo")}}
	h := start(t, config.WithTimes(func(n *host.Times) { n.Runs.EvictAfter = time.Hour })) // no guest is restored but for its wait
	wantValue(t, exec(h, `await tools.search("x"); return await tools.echo({})`), `{}`)
	id := wantWaiting(t, exec(h, `await yield_control(); try { await tools.call("nope", {}) } catch {} return 1`), codemode.ReasonYield)
	wantValue(t, h.Wait(context.Background(), me, id), `1`)
	wantFailure(t, h.Wait(context.Background(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	wantFailure(t, exec(h, `return "x".repeat(5000)`), codemode.CodeOutputLimit, "", codemode.PhaseGuest)
	mine := catalog.Tool{Name: "mine", Source: catalog.SourceClient, Owner: "somebody", Description: "Returns 1.",
		Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) { return json.RawMessage(`1`), nil }}
	r := h.Exec(context.Background(), me, host.ExecInput{Code: `return await tools.mine({})`, Tools: []catalog.Tool{mine}})
	wantValue(t, r, `1`)
	wantFailure(t, h.Exec(context.Background(), me, host.ExecInput{}), codemode.CodeInvalidInput, "", codemode.PhaseInput)
	want := `
# HELP quoin_calls_total Nested tool calls that have ended, by source and owner of the tool and by outcome.
# TYPE quoin_calls_total counter
quoin_calls_total{outcome="error",owner="none",source="none"} 1
quoin_calls_total{outcome="ok",owner="client",source="client"} 1
quoin_calls_total{outcome="ok",owner="core",source="quoin"} 1
# HELP quoin_catalog_queries_total Searches and descriptions that guests asked of the catalog.
# TYPE quoin_catalog_queries_total counter
quoin_catalog_queries_total{method="search"} 1
# HELP quoin_guest_restores_total Guests that were put into a worker from their snapshot, by engine.
# TYPE quoin_guest_restores_total counter
quoin_guest_restores_total{engine="default"} 1
# HELP quoin_limits_hit_total Times a limit was hit, by limit.
# TYPE quoin_limits_hit_total counter
quoin_limits_hit_total{limit="output_bytes"} 1
# HELP quoin_refusals_total Calls of exec and wait that were refused before anything ran, by code.
# TYPE quoin_refusals_total counter
quoin_refusals_total{code="invalid_input",tool="exec"} 1
quoin_refusals_total{code="invalid_input",tool="wait"} 1
# HELP quoin_runs Runs that this host holds: active ones inside an exec or wait, and suspended ones.
# TYPE quoin_runs gauge
quoin_runs{state="active"} 0
quoin_runs{state="suspended"} 1
# HELP quoin_runs_ended_total Runs that have ended, by the code of their result, which is completed or the code of the failure; program_error for an exception of the program.
# TYPE quoin_runs_ended_total counter
quoin_runs_ended_total{code="completed"} 3
quoin_runs_ended_total{code="output_limit_exceeded"} 1
# HELP quoin_runs_resumed_total Times a suspended run was taken up by wait.
# TYPE quoin_runs_resumed_total counter
quoin_runs_resumed_total 1
# HELP quoin_runs_started_total Cells that exec has started to run.
# TYPE quoin_runs_started_total counter
quoin_runs_started_total 5
# HELP quoin_runs_suspended_total Times a run was suspended, by reason.
# TYPE quoin_runs_suspended_total counter
quoin_runs_suspended_total{reason="yield"} 2
`
	wantWaiting(t, exec(h, `await yield_control()`), codemode.ReasonYield)
	want = strings.ReplaceAll(want, `engine="default"`, `engine="`+h.Guests().Engine.Name+`"`)
	err := testutil.GatherAndCompare(h.Metrics(), strings.NewReader(want), "quoin_calls_total", "quoin_catalog_queries_total", "quoin_guest_restores_total",
		"quoin_limits_hit_total", "quoin_refusals_total", "quoin_runs", "quoin_runs_ended_total", "quoin_runs_resumed_total", "quoin_runs_started_total", "quoin_runs_suspended_total")
	if err != nil {
		t.Error(err)
	}
	families, err := h.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	positive := map[string]bool{"quoin_guest_cpu_seconds_total": false, "quoin_pool_workers_started_total": false}
	for _, f := range families {
		if _, ok := positive[f.GetName()]; ok && f.Metric[0].GetCounter().GetValue() > 0 {
			delete(positive, f.GetName())
		}
	}
	if len(positive) > 0 {
		t.Errorf("still zero or missing: %v", positive)
	}
}
