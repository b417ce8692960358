package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

func TestYieldAndWait(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := exec(h, `
text("before");
const m = new Map([["a", 1]]);
function* count() { let i = 10; for (;;) yield i++ }
const g = count(); g.next();
await yield_control("have a look");
text("after");
return [g.next().value, [...m], 41 + 1]`)
	id := wantWaiting(t, r, host.ReasonYield)
	if len(r.Output) != 1 || r.Output[0].Text() != "before" {
		t.Errorf("output before the yield: %s", show(r))
	}
	if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Method != "yield" {
		t.Errorf("pending calls: %+v", r.PendingToolCalls)
	}
	if r.Telemetry.SnapshotBytes == 0 {
		t.Error("no snapshot bytes in telemetry")
	}
	r = h.Wait(context.Background(), me, id)
	wantValue(t, r, `[11,[["a",1]],42]`)
	if len(r.Output) != 1 || r.Output[0].Text() != "after" {
		t.Errorf("output must be what was emitted since the previous result: %s", show(r))
	}
	wantFailure(t, h.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseInput)
}

func TestManyYields(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := exec(h, `let s = 0; for (let i = 0; i < 20; i++) { await yield_control(); s += i } return s`)
	id := r.RunID
	for range 20 {
		if got := wantWaiting(t, r, host.ReasonYield); got != id {
			t.Fatalf("run id changed from %s to %s", id, got)
		}
		r = h.Wait(context.Background(), me, id)
	}
	wantValue(t, r, `190`)
}

func TestDeadlineWithToolsPending(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow"), echo("echo")}})
	id := wantWaiting(t, exec(h, `
const quick = await tools.echo({n: 1});
await yield_control();
return [quick.n, await tools.slow()]`), host.ReasonYield)
	r := h.WaitFor(context.Background(), me, id, soon)
	wantWaiting(t, r, host.ReasonPendingTools)
	if len(r.PendingToolCalls) != 1 || r.PendingToolCalls[0].Tool != "quoin:core:slow" {
		t.Errorf("pending calls: %+v", r.PendingToolCalls)
	}
	// Nothing has settled: the run stays as it is.
	r = h.WaitFor(context.Background(), me, id, soon)
	wantWaiting(t, r, host.ReasonPendingTools)
	close(g.open)
	wantValue(t, h.Wait(context.Background(), me, id), `[1,"through"]`)
}

// TestAnyCallIsEnough: wait goes on as soon as one of several calls has settled.
func TestAnyCallIsEnough(t *testing.T) {
	t.Parallel()
	one, two := newGate(), newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{one.tool("one"), two.tool("two")}})
	r := h.Exec(context.Background(), me, host.ExecInput{Wait: soon, Code: `
const a = tools.one(), b = tools.two();
text("first: " + await Promise.race([a, b]));
await yield_control();
return [await a, await b]`})
	id := wantWaiting(t, r, host.ReasonPendingTools)
	close(two.open)
	r = h.Wait(context.Background(), me, id)
	wantWaiting(t, r, host.ReasonPendingTools)
	if len(r.Output) != 1 || r.Output[0].Text() != "first: through" {
		t.Fatalf("got %s", show(r))
	}
	close(one.open)
	wantValue(t, h.Wait(context.Background(), me, id), `["through","through"]`)
}

func TestTimersSurviveSuspension(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := exec(h, `
const late = new Promise(done => setTimeout(() => done("rang"), 30));
await yield_control();
return await late`)
	wantValue(t, h.Wait(context.Background(), me, wantWaiting(t, r, host.ReasonYield)), `"rang"`)
}

func TestWaitRefusals(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("process")}})
	id := wantWaiting(t, exec(h, `await yield_control(); return 42`), host.ReasonYield)
	for _, tc := range []struct {
		name   string
		s      host.Session
		id     string
		reason host.Reason
		say    string
	}{
		{"unknown", me, "run_00112233445566778899aabbccddeeff", host.ReasonRunUnavailable, "code mode run is unavailable or expired."},
		{"not a runId", me, "run_0123", host.ReasonRunUnavailable, "code mode run is unavailable or expired. \"run_0123\" is not the id of one"},
		{"a shell session", me, "brisk-otter", host.ReasonRunUnavailable, "call quoin:core:process inside exec."},
		{"empty", me, " ", host.ReasonRunUnavailable, "empty"},
		{"a path", me, "../../etc/passwd", host.ReasonRunUnavailable, "unavailable"},
		{"other agent", host.Session{AgentID: "x", SessionKey: "key", SessionID: "session", TurnID: "turn"}, id, host.ReasonWrongSession, "belongs to a different session."},
		{"other key", host.Session{AgentID: "agent", SessionKey: "x", SessionID: "session", TurnID: "turn"}, id, host.ReasonWrongSession, "belongs to a different session."},
		{"other session", host.Session{AgentID: "agent", SessionKey: "key", SessionID: "x", TurnID: "turn"}, id, host.ReasonWrongSession, "belongs to a different session."},
		{"no session", host.Session{}, id, host.ReasonWrongSession, "belongs to a different session."},
		{"other turn", host.Session{AgentID: "agent", SessionKey: "key", SessionID: "session", TurnID: "x"}, id, host.ReasonWrongRun, "different agent run."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.Wait(context.Background(), tc.s, tc.id)
			wantFailure(t, r, host.CodeInvalidInput, tc.reason, host.PhaseInput)
			if !strings.Contains(r.Error, tc.say) {
				t.Errorf("error %q does not say %q", r.Error, tc.say)
			}
		})
	}
	// None of the refusals harmed the run, and white space around the id is fine.
	wantValue(t, h.Wait(context.Background(), me, " "+id+"\n"), `42`)
}

func TestSecondWaitIsBusy(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}})
	id := wantWaiting(t, exec(h, `await yield_control(); return await tools.slow()`), host.ReasonYield)
	first := make(chan *host.Result)
	go func() { first <- h.Wait(context.Background(), me, id) }()
	<-g.entered // the first wait drives the run
	wantFailure(t, h.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRunBusy, host.PhaseInput)
	close(g.open)
	wantValue(t, <-first, `"through"`)
}

func TestTooManySuspendedRuns(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Settings: host.Settings{MaxSuspended: 2}, Quotas: host.Quotas{SessionPercent: 100}, Tools: []catalog.Tool{g.tool("slow")}})
	code := `await yield_control(); return 1`
	a, b := exec(h, code), exec(h, code)
	wantWaiting(t, a, host.ReasonYield)
	wantWaiting(t, b, host.ReasonYield)
	r := exec(h, `tools.slow(); await yield_control(); return 1`)
	wantFailure(t, r, host.CodeInvalidInput, host.ReasonTooManySuspended, host.PhaseHost)
	if !strings.HasPrefix(r.Error, "too many suspended code mode runs. ") || !strings.Contains(r.Error, "host's 2 suspended runs 2 are taken") || !strings.Contains(r.Error, "tools.codeMode.maxSuspendedRuns") {
		t.Errorf("error %q", r.Error)
	}
	if len(g.entered) > 0 || r.Dispatched {
		t.Error("a call of a refused run was made")
	}
	r = h.Exec(context.Background(), me, host.ExecInput{Wait: soon, Code: `return await tools.slow()`})
	wantFailure(t, r, host.CodeInvalidInput, host.ReasonTooManySuspended, host.PhaseHost)
	<-g.entered
	<-g.ended // the refused run's call was cancelled
	wantValue(t, exec(h, `return "others still run"`), `"others still run"`)
	wantValue(t, h.Wait(context.Background(), me, a.RunID), `1`)
	wantWaiting(t, exec(h, code), host.ReasonYield)
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	g := newGate()
	store := &deletions{ids: make(chan string, 1)}
	h := start(t, host.Config{Settings: host.Settings{SnapshotTTL: time.Second}, Store: store, Tools: []catalog.Tool{g.tool("slow")}})
	r := exec(h, `tools.slow(); await yield_control(); return 1`)
	id := wantWaiting(t, r, host.ReasonPendingTools)
	select {
	case <-g.ended: // expiry cancels the run's calls
	case <-time.After(30 * time.Second):
		t.Fatal("a run whose time is over goes on")
	}
	if deleted := <-store.ids; deleted != id {
		t.Errorf("%s was deleted, want %s", deleted, id)
	}
	wantFailure(t, h.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRunExpired, host.PhaseInput)
}

// deletions is a store that tells what is deleted.
type deletions struct {
	runstore.Memory
	ids chan string
}

func (d *deletions) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	return through(&deletion{d, r.ID})(d.Memory.Create(ctx, r, max))
}

func (d *deletions) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	return through(&deletion{d, id})(d.Memory.Claim(ctx, id))
}

// deletion is the hooks of a claim of one run.
type deletion struct {
	store *deletions
	id    string
}

func (d *deletion) remove(ctx context.Context, claim runstore.Claim) error {
	err := claim.Delete(ctx)
	d.store.ids <- d.id
	return err
}

func TestSnapshotLimit(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{MaxSnapshot: 1 << 10}})
	r := exec(h, `const a = []; for (let i = 0; i < 5000; i++) a.push({i, r: Math.random()}); await yield_control(); return a.length`)
	wantFailure(t, r, host.CodeSnapshotLimit, "", host.PhaseGuest)
}
