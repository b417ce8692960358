package host_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/sqlite"
)

// kept returns cfg with stores in dir, so that runs and approvals outlive the host.
func kept(t *testing.T, dir string, cfg host.Config) host.Config {
	t.Helper()
	d := openState(t, dir)
	cfg.Store, cfg.Approvals.Store = d, d.Approvals()
	return cfg
}

// TestPendingApprovalsSurviveTheHost in a directory, and are decided without a host.
func TestPendingApprovalsSurviveTheHost(t *testing.T) {
	t.Parallel()
	dir, desk := t.TempDir(), newDesk()
	var calls []catalog.Invocation
	cfg := desk.config([]catalog.Tool{counted("echo", &calls)}, asks(policy.ApprovalRequest{}, "echo"))
	first := start(t, kept(t, dir, cfg))
	id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: refused}), codemode.ReasonApproval)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	apart := openState(t, dir).Approvals()
	if _, err := policy.Decide(t.Context(), apart, (<-desk.asked).ID, policy.AllowOnce, "bob", time.Now()); err != nil {
		t.Fatal(err)
	}
	r := start(t, kept(t, dir, cfg)).Wait(t.Context(), me, id)
	wantValue(t, r, `{"n":1}`)
	if len(calls) != 1 || len(desk.asked) != 0 || r.Telemetry.ApprovalCount != 1 {
		t.Errorf("%d calls, %d more questions, telemetry %+v", len(calls), len(desk.asked), r.Telemetry)
	}
}

// askingKey makes the test binary a host that suspends a run with a pending
// approval in the state directory it names, resumes it, and waits to be killed.
const askingKey = "QUOIN_TEST_ASKING"

// askingFirst makes it wait to be killed inside the Exec.
const askingFirst = "QUOIN_TEST_ASKING_FIRST"

// asking is the whole life of that host.
func asking(dir string) error {
	state, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	asked := make(chan *policy.Approval, 1)
	h, err := host.New(context.Background(), host.Config{
		Guests: host.GuestConfig{Path: os.Getenv(doomedGuest)},
		Store:  state, Approvals: host.ApprovalConfig{Store: state.Approvals(), OnNew: func(a *policy.Approval) { asked <- a }},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Tools:  []catalog.Tool{echo("echo")},
		Hooks:  []policy.Hook{asks(policy.ApprovalRequest{Timeout: time.Hour}, "echo")},
	})
	if err != nil {
		return err
	}
	if os.Getenv(askingFirst) != "" {
		go func() {
			a := <-asked
			fmt.Println(a.RunID, a.ID)
		}()
		return fmt.Errorf("got %s", show(exec(h, `return await tools.echo({n: 1})`)))
	}
	r := h.Exec(context.Background(), me, host.ExecInput{Wait: soon, Code: `return (await tools.echo({n: 41})).n + 1`})
	if r.Status != host.StatusWaiting {
		return fmt.Errorf("got %s", show(r))
	}
	fmt.Println(r.RunID, (<-asked).ID)
	for {
		h.Wait(context.Background(), me, r.RunID)
	}
}

// TestPendingApprovalsSurviveSIGKILL: the host is killed while it waits for a
// person, inside a Wait; the decision then counts in the next host.
func TestPendingApprovalsSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, approval, kill := asker(t, dir)
	kill()
	desk := newDesk()
	h := start(t, kept(t, dir, desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{}, "echo"))))
	list, err := h.Approvals().List(t.Context(), policy.Filter{RunID: run})
	if err != nil || len(list) != 1 || list[0].ID != approval {
		t.Fatalf("%v, pending %+v", err, list)
	}
	decide(t, h, approval, policy.AllowOnce)
	wantValue(t, h.Wait(t.Context(), me, run), `42`)
	if len(desk.asked) != 0 {
		t.Error("a person was asked again")
	}
}

// asker starts such a host and returns what its run and its question are called.
func asker(t *testing.T, dir string, env ...string) (run, approval string, kill func()) {
	t.Helper()
	p := startHost(t, append(env, askingKey+"="+dir)...)
	for approval == "" {
		if _, err := fmt.Sscan(p.next(), &run, &approval); err != nil {
			t.Fatal(err)
		}
	}
	return run, approval, p.kill
}

// TestOrphanedApprovalsEnd: a host is killed inside the first Exec of a run, which is
// in no store, while a person is asked. No host can continue that run, so the next
// host ends the question, and says so. As long as the first host lives, it does not.
func TestOrphanedApprovalsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, approval, kill := asker(t, dir, askingFirst+"=1")
	cfg := kept(t, dir, newDesk().config(nil))
	cfg.Trajectory.Sink = openTrajectory(t, dir)
	h := start(t, cfg)
	state := func() policy.State {
		t.Helper()
		if err := h.Engine().EndOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		a, err := cfg.Approvals.Store.Get(t.Context(), approval)
		if err != nil {
			t.Fatal(err)
		}
		return a.State
	}
	if got := state(); got != policy.StatePending {
		t.Errorf("while its host lives the question is %s", got)
	}
	kill()
	got := state()
	for end := time.Now().Add(time.Minute); got == policy.StatePending && time.Now().Before(end); { // the host may be at it by itself
		got = state()
	}
	if got != policy.StateCancelled {
		t.Errorf("after its host was killed the question is %s", got)
	}
	if _, err := h.Approvals().Decide(t.Context(), approval, policy.AllowOnce, "alice"); err == nil {
		t.Error("it can still be decided")
	}
	if err := h.Close(); err != nil { // by then it has recorded what it has ended by itself
		t.Fatal(err)
	}
	events := readTrajectory(t, openTrajectory(t, dir), run).Events
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, strings.TrimSpace(string(e.Kind)+" "+e.Decision+e.Code))
	}
	if d := cmp.Diff([]string{"approval_decided cancelled", "run_ended aborted"}, kinds); d != "" {
		t.Errorf("recorded (-want +got):\n%s", d)
	}
	if locks, err := filepath.Glob(filepath.Join(dir, "runs", run+"*")); err != nil || len(locks) != 0 {
		t.Errorf("left: %v, %v", locks, err)
	}
}
