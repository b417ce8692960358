package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

func itoa(n int) string { return strconv.Itoa(n) }

func openDir(t *testing.T, path string) runstore.Store {
	t.Helper()
	s, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRunsSurviveTheHost(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	first := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{echo("echo")}})
	id := wantWaiting(t, exec(first, `
const kept = await tools.echo({n: 41});
await yield_control();
return (await tools.echo({n: kept.n + 1})).n`), host.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, first.Wait(context.Background(), me, id), host.CodeUnavailable, "", host.PhaseHost)

	second := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{echo("echo")}})
	wantFailure(t, second.Wait(context.Background(), host.Session{SessionID: "x"}, id), host.CodeInvalidInput, host.ReasonWrongSession, host.PhaseInput)
	r := second.Wait(context.Background(), me, id)
	wantValue(t, r, `42`)
	if r.Telemetry.CallCount != 2 {
		t.Errorf("callCount %d: counts must go on over a restart", r.Telemetry.CallCount)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "run_*")); err != nil || len(files) != 0 {
		t.Errorf("a finished run left %v, %v", files, err)
	}
}

// TestAnswersReachTheStore: Close lets calls of suspended runs finish, and the
// next host delivers their answers.
func TestAnswersReachTheStore(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	g := newGate()
	first := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{g.tool("slow")}, DrainTimeout: time.Minute})
	id := wantWaiting(t, first.Exec(context.Background(), me, host.ExecInput{Wait: soon, Code: `return await tools.slow()`}), host.ReasonPendingTools)
	closed := make(chan error)
	go func() { closed <- first.Close() }()
	close(g.open)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	never := newGate()
	second := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{never.tool("slow")}})
	wantValue(t, second.Wait(context.Background(), me, id), `"through"`)
	if len(never.entered) != 0 {
		t.Error("the call was made twice")
	}
}

// TestCallsInFlightAtTheEnd: a call whose host stopped is made again if the tool
// is read-only or idempotent, with the same key; else it rejects as unknown.
func TestCallsInFlightAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		mark func(*catalog.Tool)
		want string
	}{
		{"plain", func(*catalog.Tool) {}, `["unknown","interrupted"]`},
		{"read-only", func(c *catalog.Tool) { c.ReadOnly = true }, `"through"`},
		{"idempotent", func(c *catalog.Tool) { c.Idempotent = true }, `"through"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := mkdir(t)
			g := newGate()
			tool := g.tool("slow")
			tc.mark(&tool)
			first := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{tool}, DrainTimeout: time.Millisecond})
			id := wantWaiting(t, first.Exec(context.Background(), me, host.ExecInput{Wait: soon, Code: `
try { return await tools.slow() } catch (e) { return [e.effectStatus, e.code] }`}), host.ReasonPendingTools)
			key := (<-g.entered).IdempotencyKey
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			close(g.open)
			second := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{tool}})
			wantValue(t, second.Wait(context.Background(), me, id), tc.want)
			if len(g.entered) == 1 {
				if again := (<-g.entered).IdempotencyKey; again != key {
					t.Errorf("idempotency key changed from %s to %s", key, again)
				}
			}
		})
	}
}

// TestAbandonedRunsAreSwept: a record whose host is gone and whose time is over is
// deleted by the next host, unasked.
func TestAbandonedRunsAreSwept(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	old := &runstore.Record{ID: "run_old", Format: runstore.FormatVersion, Expires: time.Now().Add(-time.Second)}
	claim, err := openDir(t, dir).Create(context.Background(), old, 0)
	if err != nil {
		t.Fatal(err)
	}
	claim.Release()
	swept := &sweeps{Store: openDir(t, dir), left: make(chan int, 1)}
	start(t, host.Config{Store: swept})
	if left := <-swept.left; left != 0 {
		t.Errorf("%d records left, want none", left)
	}
}

// sweeps is a store that tells what each sweep has left.
type sweeps struct {
	runstore.Store
	left chan int
}

func (s *sweeps) Sweep(ctx context.Context, now time.Time) (int, error) {
	n, err := s.Store.Sweep(ctx, now)
	s.left <- n
	return n, err
}

// TestTwoHostsNeverMakeACallTwice: while one host has a call of a resumed run in
// flight, another that shares the store gets neither the run nor the call.
func TestTwoHostsNeverMakeACallTwice(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	g := newGate()
	slow := g.tool("slow")
	slow.Idempotent = true
	a := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{slow}})
	b := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{slow}})
	id := wantWaiting(t, exec(a, `await yield_control(); return await tools.slow()`), host.ReasonYield)
	wantWaiting(t, a.WaitFor(context.Background(), me, id, soon), host.ReasonPendingTools)
	<-g.entered
	wantFailure(t, b.WaitFor(context.Background(), me, id, soon), host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseInput)
	if len(g.entered) != 0 {
		t.Error("the call was made twice")
	}
	close(g.open)
	wantValue(t, a.Wait(context.Background(), me, id), `"through"`)
}

// TestExpiryLeavesWhatOthersResumed: a host whose copy of a run is out of date
// does not end it when its own time for it is over.
func TestExpiryLeavesWhatOthersResumed(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	a := start(t, host.Config{Store: openDir(t, dir)})
	b := start(t, host.Config{Store: openDir(t, dir)})
	id := wantWaiting(t, exec(a, `await yield_control(); await yield_control(); return 42`), host.ReasonYield)
	wantWaiting(t, b.Wait(context.Background(), me, id), host.ReasonYield)
	a.Engine().Expire(id)
	wantValue(t, b.Wait(context.Background(), me, id), `42`)
}

// TestHostDiesWhileARunGoesOn: before a resumed guest's call leaves, the store has
// the guest that made it and the call, and a host that finds them goes on.
func TestHostDiesWhileARunGoesOn(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	g := newGate()
	first := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{g.tool("slow")}})
	id := wantWaiting(t, exec(first, `
await yield_control();
text("before");
try { return await tools.slow() } catch (e) { return [e.effectStatus, e.toolId] }`), host.ReasonYield)
	done := make(chan *host.Result)
	go func() { done <- first.Wait(context.Background(), me, id) }()
	<-g.entered
	// What a host that dies now leaves behind.
	rec, err := openDir(t, dir).Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	close(g.open)
	wantValue(t, <-done, `"through"`)

	other := mkdir(t)
	claim, err := openDir(t, other).Create(context.Background(), rec, 0)
	if err != nil {
		t.Fatal(err)
	}
	claim.Release()
	second := start(t, host.Config{Store: openDir(t, other), Tools: []catalog.Tool{g.tool("slow")}})
	r := second.Wait(context.Background(), me, id)
	wantValue(t, r, `["unknown","quoin:core:slow"]`)
	if len(r.Output) != 1 || r.Output[0].Text() != "before" {
		t.Errorf("got %s, want what the first host did not return", show(r))
	}
	wantFailure(t, second.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseInput)
}

// TestHostDiesWithALargeGuest: a guest too large for an image goes on without one.
// If its host dies, the run is gone, and wait says what is known, also if
// an answer or an advancer has found that before.
func TestHostDiesWithALargeGuest(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	g := newGate()
	first := start(t, host.Config{
		Store: openDir(t, dir), Tools: []catalog.Tool{g.tool("slow")},
		Settings: host.Settings{MaxSnapshot: 64 << 10},
	})
	id := wantWaiting(t, exec(first, `
await yield_control();
globalThis.ballast = Array.from({length: 50000}, () => Math.random());
return await tools.slow()`), host.ReasonYield)
	done := make(chan *host.Result)
	go func() { done <- first.Wait(context.Background(), me, id) }()
	<-g.entered
	rec, err := openDir(t, dir).Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if !rec.Live || !rec.Dispatched || len(rec.Image) != 0 {
		t.Errorf("record %+v: want a note that the run was going on", rec)
	}
	close(g.open)
	wantValue(t, <-done, `"through"`)

	for name, foundFirst := range map[string]func(*host.Host, runstore.Store, overheard){
		"by a wait": func(*host.Host, runstore.Store, overheard) {},
		"by a delivery": func(h *host.Host, _ runstore.Store, _ overheard) {
			h.Deliver(context.Background(), me, id, 0).Release()
		},
		"by an answer": func(h *host.Host, _ runstore.Store, _ overheard) {
			if err := h.Answer(context.Background(), me, id, "call", host.ToolAnswer{Value: []byte("1")}); err == nil || !strings.Contains(err.Error(), "check before") {
				t.Errorf("an answer to a call of the run: %v", err)
			}
		},
		"by an advancer": func(_ *host.Host, s runstore.Store, told overheard) {
			if err := s.(runstore.Scheduler).Wake(context.Background(), id); err != nil {
				t.Error(err)
			}
			told.until(t, id, trajectory.RunEnded)
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := openDir(t, mkdir(t))
			claim, err := other.Create(context.Background(), rec, 0)
			if err != nil {
				t.Fatal(err)
			}
			claim.Release()
			second, told := advancing(t, host.Config{Store: other})
			foundFirst(second, other, told)
			r := second.Wait(context.Background(), me, id)
			wantFailure(t, r, host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseHost)
			if !r.Dispatched || !strings.Contains(r.Error, "check before") || !strings.Contains(r.Error, "quoin:core:slow") {
				t.Errorf("got %s, want dispatched and advice", show(r))
			}
			wantFailure(t, second.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseInput)
		})
	}
}

func TestDamagedRunsAreRefused(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	first := start(t, host.Config{Store: openDir(t, dir)})
	id := wantWaiting(t, exec(first, `await yield_control(); return 42`), host.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, id+".run")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{Store: openDir(t, dir)})
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, second.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRestoreFailed, host.PhaseHost)
	whole[len(whole)/2] ^= 1
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	wantValue(t, second.Wait(context.Background(), me, id), `42`)
}

// TestForeignBuildsAreRefused: an image of another guest build is never loaded, and without
// a log there is no replay.
func TestForeignBuildsAreRefused(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	first := start(t, host.Config{Store: openDir(t, dir)})
	id := wantWaiting(t, exec(first, `await yield_control(); return 42`), host.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s := openDir(t, dir)
	rec, err := s.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	rec.GuestBuild, rec.Replay = "00", nil
	claim, err := s.Claim(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Checkpoint(context.Background(), rec); err != nil {
		t.Fatal(err)
	}
	claim.Release()
	second := start(t, host.Config{Store: openDir(t, dir)})
	wantFailure(t, second.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRestoreFailed, host.PhaseHost)
}

// TestTwoHostsOneStore: hosts that share a directory take turns with a run.
func TestTwoHostsOneStore(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	a := start(t, host.Config{Store: openDir(t, dir)})
	b := start(t, host.Config{Store: openDir(t, dir)})
	r := exec(a, `const seen = []; for (let i = 0; i < 6; i++) { await yield_control(); seen.push(i) } return seen`)
	id := r.RunID
	for i := range 6 {
		wantWaiting(t, r, host.ReasonYield)
		h := a
		if i%2 == 0 {
			h = b
		}
		r = h.Wait(context.Background(), me, id)
	}
	wantValue(t, r, `[0,1,2,3,4,5]`)
	wantFailure(t, a.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseInput)
}
