package host_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
)

// doomedKey makes the test binary a host that suspends runs in the directory it
// names, tells their ids, and waits to be killed.
const doomedKey = "QUOIN_TEST_DOOMED"

// doomed is the whole life of that host.
func doomed(dir string) error {
	s, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	told, err := s.Trajectory(trajectory.DirOptions{})
	if err != nil {
		return err
	}
	g := newGate()
	h, err := host.New(context.Background(), host.Config{
		Guests:     host.GuestConfig{Path: os.Getenv(doomedGuest)},
		Store:      s,
		Trajectory: host.TrajectoryConfig{Sink: told},
		Logger:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		Tools:      []catalog.Tool{echo("echo"), g.tool("slow")},
	})
	if err != nil {
		return err
	}
	for _, code := range []string{
		`const n = (await tools.echo({n: 41})).n; await yield_control(); return n + 1`,
		`const p = tools.slow(); await yield_control(); try { return await p } catch (e) { return e.effectStatus }`,
	} {
		r := exec(h, code)
		if r.Status != host.StatusWaiting {
			return fmt.Errorf("got %s", show(r))
		}
		fmt.Println(r.RunID)
	}
	<-g.entered
	fmt.Println("ready")
	select {}
}

// TestSuspendedRunsSurviveSIGKILL: a host has suspended a run and is killed without a chance
// to do anything. The run continues in another host.
func TestSuspendedRunsSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	p := startHost(t, doomedKey+"="+dir)
	said := p.untilReady()
	p.kill()
	if len(said) != 2 {
		t.Fatalf("the host said %q\n%s", said, p.stderr.String())
	}
	told := openTrajectory(t, dir)
	h := start(t, host.Config{Store: openState(t, dir), Trajectory: host.TrajectoryConfig{Sink: told}, Tools: []catalog.Tool{echo("echo"), newGate().tool("slow")}})
	wantValue(t, h.Wait(context.Background(), me, said[0]), `42`)
	wantValue(t, h.Wait(context.Background(), me, said[1]), `"unknown"`)
	for i, want := range [][]string{
		{"exec  waiting yield", "quoin:core:echo ok", "wait  completed"},
		{"exec  waiting pending_tools", "quoin:core:slow unknown interrupted", "wait  completed"},
	} {
		if diff := cmp.Diff(want, outline(readTrajectory(t, told, said[i]))); diff != "" {
			t.Errorf("trajectory %d (-want +got):\n%s", i, diff)
		}
	}
	for _, id := range said[:2] {
		if r := h.Wait(context.Background(), me, id); r.Reason != codemode.ReasonRunUnavailable || !strings.Contains(r.Error, "unavailable") {
			t.Errorf("got %s, want the run to be over", show(r))
		}
	}
}
