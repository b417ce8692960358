package host_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// TestIdleGuestsGiveTheirWorkerBack: with one place for workers, a second cell
// runs while the first waits for a tool.
func TestIdleGuestsGiveTheirWorkerBack(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Guests: host.GuestConfig{Max: 1}, Tools: []catalog.Tool{g.tool("slow"), echo("echo")}})
	first := make(chan *host.Result)
	go func() {
		first <- exec(h, `
const kept = new Map([["a", 1]]);
const bell = new Promise(done => setTimeout(done, 60, "rang"));
const got = await tools.slow();
return [got, [...kept], await bell]`)
	}()
	<-g.entered
	wantValue(t, exec(h, `return (await tools.echo({n: 2})).n`), `2`)
	close(g.open)
	wantValue(t, <-first, `["through",[["a",1]],"rang"]`)
}

// TestLargeGuestsStayInTheirWorker: a guest whose image would be too large goes on
// where it is.
func TestLargeGuestsStayInTheirWorker(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Settings: host.Settings{MaxSnapshot: 64 << 10, Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("slow")}})
	done := make(chan *host.Result)
	go func() {
		done <- exec(h, `
const ballast = Array.from({length: 50000}, () => Math.random());
const bell = new Promise(done => setTimeout(done, 60, "rang"));
return [await tools.slow(), ballast.length, await bell]`)
	}()
	<-g.entered
	rested := time.NewTimer(50 * time.Millisecond) // it would rest by now
	<-rested.C
	close(g.open)
	wantValue(t, <-done, `["through",50000,"rang"]`)
}

// TestManyRunsInFlight: the number of cells that wait for slow tools is bounded by
// memory, not by processes.
func TestManyRunsInFlight(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("2,000 runs at once; make test-all runs it")
	}
	const runs = 2000
	g := &gate{entered: make(chan catalog.Invocation, runs), open: make(chan struct{}), ended: make(chan error, runs)}
	h := start(t, host.Config{Guests: host.GuestConfig{Max: 4}, Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("slow")}})
	var wg sync.WaitGroup
	for range runs {
		wg.Go(func() {
			if r := exec(h, `return await tools.slow()`); r.Status != host.StatusCompleted {
				t.Errorf("got %.300s", show(r))
			}
		})
	}
	for range runs {
		<-g.entered // all of them are in flight at once
	}
	close(g.open)
	wg.Wait()
}

// TestBusyWorkers: a cell that finds no worker for as long as it may take says so.
func TestBusyWorkers(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Guests: host.GuestConfig{Max: 1}, Settings: host.Settings{Timeout: time.Minute}})
	spinning := make(chan *host.Result)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { spinning <- h.Exec(ctx, me, host.ExecInput{Code: `for (;;);`}) }()
	var r *host.Result
	for { // until the spinning cell has the place
		if r = h.Exec(context.Background(), me, host.ExecInput{Code: `return 1`, Wait: soon}); r.Status == host.StatusFailed {
			break
		}
	}
	wantFailure(t, r, host.CodeUnavailable, "", host.PhaseHost)
	cancel()
	if r := <-spinning; r.Code != host.CodeAborted && r.Code != host.CodeTimeout {
		t.Errorf("got %s", show(r))
	}
	wantValue(t, exec(h, `return 1`), `1`)
}

// TestCPUBudget: processor time adds up over the waits of a run.
func TestCPUBudget(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	cfg := host.Config{Settings: host.Settings{CPUBudget: 300 * time.Millisecond, Timeout: time.Minute}, Tools: []catalog.Tool{echo("echo")}}
	// On a busy machine the last turn would be stopped just before the budget is used up.
	cfg = cfg.WithTimes(func(n *host.Times) { n.Runs.CPUGrace = time.Second })
	cfg.Store = openDir(t, dir)
	h := start(t, cfg)
	r := exec(h, `for (;;) { const end = Date.now() + 40; while (Date.now() < end); await yield_control() }`)
	for waits := 0; r.Status == host.StatusWaiting; waits++ {
		if waits == 3 { // the budget survives the host
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			cfg.Store = openDir(t, dir)
			h = start(t, cfg)
		}
		if waits > 100 {
			t.Fatal("the budget is never used up")
		}
		r = h.Wait(context.Background(), me, r.RunID)
	}
	wantFailure(t, r, host.CodeTimeout, "", host.PhaseGuest)
	if !strings.Contains(r.Error, "CPU budget") || r.Telemetry.GuestCPUMillis < 300 {
		t.Errorf("got %s", show(r))
	}
	r = h.Exec(context.Background(), me, host.ExecInput{Code: `for (;;);`})
	wantFailure(t, r, host.CodeTimeout, "", host.PhaseGuest)
	// Waiting costs none of it.
	wantValue(t, exec(h, `await new Promise(done => setTimeout(done, 400)); return (await tools.echo({n: 1})).n`), `1`)
}
