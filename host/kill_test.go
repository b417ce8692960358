package host_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// doomedKey makes the test binary a host that suspends runs in the directory it
// names, tells their ids, and waits to be killed. doomedGuest names its guest.
const (
	doomedKey   = "QUOIN_TEST_DOOMED"
	doomedGuest = "QUOIN_TEST_GUEST"
)

// doomed is the whole life of that host.
func doomed(dir string) error {
	s, err := runstore.OpenDir(dir)
	if err != nil {
		return err
	}
	told, err := trajectory.OpenDir(filepath.Join(dir, "trajectory"), trajectory.DirOptions{})
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

// TestSuspendedRunsSurviveSIGKILL: what a host suspended goes on in another when
// the first was killed without a chance to do anything.
func TestSuspendedRunsSurviveSIGKILL(t *testing.T) {
	guest, err := hosttest.Guest()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := mkdir(t)
	cmd := osexec.Command(exe)
	cmd.Env = append(os.Environ(), doomedKey+"="+dir, doomedGuest+"="+guest)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if lines.Text() == "ready" {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || len(said) != 3 {
		t.Fatalf("the doomed host said %q and ended with %v", said, err)
	}
	told := openTrajectory(t, dir)
	h := start(t, host.Config{Store: openDir(t, dir), Trajectory: host.TrajectoryConfig{Sink: told}, Tools: []catalog.Tool{echo("echo"), newGate().tool("slow")}})
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
		if r := h.Wait(context.Background(), me, id); r.Reason != host.ReasonRunUnavailable || !strings.Contains(r.Error, "unavailable") {
			t.Errorf("got %s, want the run to be over", show(r))
		}
	}
}
