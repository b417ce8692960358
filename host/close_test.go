package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestShutdownParksRuns: programs that wait are parked, their callers are told, and the next
// host resumes them. New work is refused.
func TestShutdownParksRuns(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	g := newGate()
	slow := g.tool("slow")
	slow.ReadOnly = true
	first := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{slow}, DrainTimeout: 1})
	fresh, resumed := make(chan *host.Result), make(chan *host.Result)
	go func() { fresh <- exec(first, `text("fresh"); return await tools.slow()`) }()
	<-g.entered
	id := wantWaiting(t, exec(first, `await yield_control(); text("resumed"); return await tools.slow()`), codemode.ReasonYield)
	go func() { resumed <- first.Wait(context.Background(), me, id) }()
	<-g.entered
	if err := first.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, exec(first, `return 1`), codemode.CodeUnavailable, "", codemode.PhaseHost)
	wantFailure(t, first.Wait(context.Background(), me, id), codemode.CodeUnavailable, "", codemode.PhaseHost)
	close(g.open)
	second := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{slow}})
	for want, results := range map[string]chan *host.Result{"fresh": fresh, "resumed": resumed} {
		r := <-results
		id := wantWaiting(t, r, codemode.ReasonPendingTools)
		if len(r.Output) != 1 || r.Output[0].Text() != want || len(r.PendingToolCalls) != 1 {
			t.Errorf("got %s", show(r))
		}
		r = second.Wait(context.Background(), me, id)
		wantValue(t, r, `"through"`)
		if len(r.Output) != 0 {
			t.Errorf("got %s, want no output twice", show(r))
		}
	}
}

// TestShutdownAbortsWhatDoesNotWait: a program that computes has until ctx ends.
func TestShutdownAbortsWhatDoesNotWait(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	tool := echo("mark")
	inner := tool.Invoke
	tool.Invoke = func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
		close(entered)
		return inner(ctx, c)
	}
	h := start(t, host.Config{Store: openDir(t, mkdir(t)), Tools: []catalog.Tool{tool}})
	done := make(chan *host.Result)
	go func() { done <- exec(h, `await tools.mark(); for (;;);`) }()
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.Status != host.StatusFailed || r.Code != codemode.CodeAborted {
		// It may have been parked before it got its answer.
		wantWaiting(t, r, codemode.ReasonPendingTools)
	}
}

// TestShutdownWithoutAStoreLetsProgramsEnd: there is nowhere to park them.
func TestShutdownWithoutAStoreLetsProgramsEnd(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}})
	done := make(chan *host.Result, 1)
	go func() { done <- exec(h, `return await tools.slow()`) }()
	<-g.entered
	over := make(chan error)
	go func() { over <- h.Shutdown(context.Background()) }()
	for exec(h, `return 1`).Status == host.StatusCompleted {
	}
	close(g.open)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	wantValue(t, <-done, `"through"`)
}

// TestShutdownFreesCellsThatWaitForAWorker: they have not started.
func TestShutdownFreesCellsThatWaitForAWorker(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Guests: host.GuestConfig{Max: 1}, Store: openDir(t, mkdir(t))})
	ctx, cancel := context.WithCancel(context.Background())
	spinning, queued := make(chan *host.Result), make(chan *host.Result)
	go func() { spinning <- h.Exec(ctx, me, host.ExecInput{Code: `for (;;);`}) }()
	for h.Exec(context.Background(), me, host.ExecInput{Code: `return 1`, Wait: soon}).Status != host.StatusFailed {
	}
	go func() { queued <- exec(h, `return 1`) }()
	for { // until both are there
		runs, err := h.Runs().List(context.Background(), me)
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == 2 {
			break
		}
	}
	over := make(chan error)
	go func() { over <- h.Shutdown(context.Background()) }()
	wantFailure(t, <-queued, codemode.CodeUnavailable, "", codemode.PhaseHost)
	cancel()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	<-spinning
}

func TestRunsOfASession(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	g := newGate()
	tools := []catalog.Tool{g.tool("slow")}
	first := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
	stored := wantWaiting(t, exec(first, `await yield_control(); return 1`), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	h := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
	other := me
	other.TurnID = "another turn"
	stranger := host.Session{SessionID: "stranger"}
	parked := wantWaiting(t, h.Exec(context.Background(), other, host.ExecInput{Code: `tools.slow(); await yield_control()`}), codemode.ReasonPendingTools)
	foreign := wantWaiting(t, h.Exec(context.Background(), stranger, host.ExecInput{Code: `await yield_control(); return 2`}), codemode.ReasonYield)
	running := make(chan *host.Result)
	go func() { running <- exec(h, `return await tools.slow()`) }()
	<-g.entered
	<-g.entered

	list := func(s host.Session) []codemode.RunInfo {
		t.Helper()
		runs, err := h.Runs().List(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		return runs
	}
	session := me
	session.TurnID = ""
	all := list(session)
	if len(all) != 3 || all[0].ID != stored || all[1].ID != parked {
		t.Fatalf("got %+v, want the stored, the parked and the running one", all)
	}
	if i := all[0]; i.Status != codemode.RunWaiting || i.Reason != codemode.ReasonYield || i.Expires.IsZero() || len(i.PendingToolCalls) != 1 || i.Session != me || i.Language != "javascript" {
		t.Errorf("stored: %+v", i)
	}
	if i := all[1]; i.Status != codemode.RunWaiting || i.Reason != codemode.ReasonPendingTools || i.Expires.IsZero() || len(i.PendingToolCalls) != 2 || i.Session != other {
		t.Errorf("parked: %+v", i)
	}
	if i := all[2]; i.Status != codemode.RunRunning || i.Reason != "" || !i.Expires.IsZero() || len(i.PendingToolCalls) != 1 {
		t.Errorf("running: %+v", i)
	}
	if turn := list(other); len(turn) != 1 || turn[0].ID != parked {
		t.Errorf("of one turn: %+v", turn)
	}

	n, err := h.EndSession(context.Background(), session)
	if err != nil || n != 3 {
		t.Errorf("EndSession = %d, %v; want 3 ended", n, err)
	}
	wantFailure(t, <-running, codemode.CodeAborted, "", codemode.PhaseHost)
	<-g.ended
	<-g.ended // the calls of the parked and of the running one
	if left := list(session); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	for _, id := range []string{stored, parked} {
		if _, err := openDir(t, dir).Get(context.Background(), id); err != runstore.ErrNotFound {
			t.Errorf("the store has %s: %v", id, err)
		}
	}
	wantValue(t, h.Wait(context.Background(), stranger, foreign), `2`)
}

// TestCloseWaitsForClose: a second Close finds the host closed when Close
// returns, too.
func TestCloseWaitsForClose(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	tool := echo("hold")
	tool.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		close(entered)
		<-leave
		return nil, nil
	}
	h := start(t, host.Config{Tools: []catalog.Tool{tool}})
	go exec(h, `await tools.hold()`)
	<-entered
	closed := make(chan error, 2)
	for range cap(closed) {
		go func() { closed <- h.Close() }()
	}
	select {
	case err := <-closed:
		t.Errorf("Close returned %v with a tool call under way", err)
	default:
	}
	close(leave)
	for range cap(closed) {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
}
