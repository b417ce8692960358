package host_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// suspendedByAnotherBuild runs a program on another build of the guest until it yields.
func suspendedByAnotherBuild(t *testing.T, dir, code string, tools ...catalog.Tool) (id string) {
	t.Helper()
	h := start(t, host.Config{Store: openState(t, dir), Tools: tools, Guests: host.GuestConfig{Path: anotherGuest(t)}})
	id = wantWaiting(t, exec(h, code), codemode.ReasonYield)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestARunIsReplayedOnAnotherBuild: where the build that suspended a run is gone, the program
// is run again up to where it was, and continues. It sees the times and the random values that
// it saw, and what it had emitted is emitted once.
func TestARunIsReplayedOnAnotherBuild(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), mkdir(t)
	id := suspendedByAnotherBuild(t, dir, `const kept = [Date.now(), Math.random()];
		await new Promise((r) => setTimeout(r, 20));
		kept.push(crypto.randomUUID(), Date.now()); text("before"); const asked = kept.join();
		await yield_control(asked); await yield_control(); return kept.join() === asked`)
	second := start(t, host.Config{Store: openState(t, dir)})
	wantWaiting(t, second.Wait(ctx, me, id), codemode.ReasonYield)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Path: anotherGuest(t)}}) // and back again
	got := third.Wait(ctx, me, id)
	wantValue(t, got, `true`)
	if len(got.Output) != 0 {
		t.Errorf("output of the replay: %s", show(got))
	}
}

// TestAReplayCallsNoTool: a replay takes the answers from the log, in the order in which the
// program got them, calls made together included. A call that had no answer when the host
// stopped is made once.
func TestAReplayCallsNoTool(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), mkdir(t)
	var calls []catalog.Invocation
	tools := func() []catalog.Tool { return []catalog.Tool{counted("count", &calls), echo("echo")} }
	id := suspendedByAnotherBuild(t, dir, `const order = [];
		await Promise.all([1, 2, 3, 4].map(async (n) => { order.push((await tools.count({n})), n); }));
		order.push(await tools.echo({tools: ALL_TOOLS.length, found: (await tools.search("echo")).length}));
		await yield_control(); order.push(await tools.count({last: true})); return JSON.stringify(order)`, tools()...)
	if len(calls) != 4 {
		t.Fatalf("%d calls before the suspension", len(calls))
	}
	h := start(t, host.Config{Store: openState(t, dir), Tools: tools()})
	got := h.Wait(ctx, me, id)
	if got.Status != host.StatusCompleted || len(calls) != 5 {
		t.Errorf("%d calls; got %s", len(calls), show(got))
	}
}

// TestAReplayAfterAKilledHost: a host is killed while a run continues. What the program has
// got since it was suspended is in the log of its newest image, and what had been answered and
// not delivered is in the journal.
func TestAReplayAfterAKilledHost(t *testing.T) {
	t.Parallel()
	ctx, dir, crashed := context.Background(), mkdir(t), filepath.Join(mkdir(t), "crashed")
	g := newGate()
	var calls []catalog.Invocation
	tools := []catalog.Tool{g.tool("slow"), counted("count", &calls)}
	id := suspendedByAnotherBuild(t, dir, `const seen = [await tools.count({n: 1})]; await yield_control();
		seen.push(await tools.count({n: 2}));
		const slow = tools.slow({}).catch((e) => e.effectStatus); seen.push(await tools.count({n: 3}));
		seen.push(await slow); return seen.length`, tools...)
	h := start(t, host.Config{Store: openState(t, dir), Tools: tools, Guests: host.GuestConfig{Path: anotherGuest(t)}})
	done := make(chan *host.Result, 1)
	go func() { done <- h.Wait(ctx, me, id) }()
	<-g.entered
	awaitCalls(t, h, id, 1)
	copyState(t, dir, crashed) // what is there when the host is killed now
	close(g.open)
	wantValue(t, <-done, `4`)
	made := len(calls)
	second := start(t, host.Config{Store: openState(t, crashed), Tools: []catalog.Tool{newGate().tool("slow"), counted("count", &calls)}})
	wantValue(t, second.Wait(ctx, me, id), `4`)
	if len(calls) != made || made != 3 {
		t.Errorf("%d calls, %d before the replay", len(calls), made)
	}
}

// TestAReplayThatTakesAnotherPathIsStopped: a weak reference dies when the guest is
// suspended, which a replay is not. The run is kept for the build that suspended it.
func TestAReplayThatTakesAnotherPathIsStopped(t *testing.T) {
	t.Parallel()
	ctx, dir, old := context.Background(), mkdir(t), anotherGuest(t)
	var calls []catalog.Invocation
	first := start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{counted("count", &calls)}, Guests: host.GuestConfig{Path: old}})
	id := wantWaiting(t, exec(first, `let o = {big: new Array(200_000).fill(0.5)}; o.self = o; const weak = new WeakRef(o); o = null;
		await yield_control(); await tools.count({gone: weak.deref() === undefined}); await yield_control(); return "done"`), codemode.ReasonYield)
	wantWaiting(t, first.Wait(ctx, me, id), codemode.ReasonYield)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{counted("count", &calls)}})
	got := second.Wait(ctx, me, id)
	wantFailure(t, got, codemode.CodeInvalidInput, codemode.ReasonReplayDiverged, codemode.PhaseHost)
	if !strings.Contains(got.Error, "in turn 2 it asked for something else") || len(calls) != 1 || !got.Dispatched {
		t.Errorf("%d calls, %s", len(calls), show(got))
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{counted("count", &calls)}, Guests: host.GuestConfig{Builds: buildsWith(t, old)}})
	wantValue(t, third.Wait(ctx, me, id), `"done"`)
}

// TestARunThatGotTooMuchIsNotReplayed says so, and keeps the run.
func TestARunThatGotTooMuchIsNotReplayed(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), mkdir(t)
	id := suspendedByAnotherBuild(t, dir, `let n = 0;
		for (let i = 0; i < 5; i++) n += (await tools.echo({text: "x".repeat(1_000_000)})).text.length;
		await yield_control(); return n`, echo("echo"))
	h := start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{echo("echo")}})
	got := h.Wait(ctx, me, id)
	wantFailure(t, got, codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost)
	if !strings.Contains(got.Error, "it has got more than is kept for that") || !strings.Contains(got.Error, "guest.builds") {
		t.Errorf("got %s", show(got))
	}
}

// upgrade returns what UpgradeRuns says.
func upgrade(ctx context.Context, h *host.Host, o codemode.UpgradeOptions) (list []codemode.UpgradedRun, err error) {
	for u, e := range h.Runs().Upgrade(ctx, o) {
		if e != nil {
			err = e
			continue
		}
		list = append(list, u)
	}
	return list, err
}

// TestUpgradeReplaysAheadOfTime: each run of another build is replayed before its wait.
func TestUpgradeReplaysAheadOfTime(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), mkdir(t)
	h := start(t, host.Config{Store: openState(t, dir), Guests: host.GuestConfig{Path: anotherGuest(t)}})
	var ids []string
	for i := range 3 {
		ids = append(ids, wantWaiting(t, exec(h, fmt.Sprintf(`await yield_control(); return %d`, i)), codemode.ReasonYield))
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, host.Config{Store: openState(t, dir)})
	for range 2 { // which changes nothing
		if done, err := upgrade(ctx, second, codemode.UpgradeOptions{DryRun: true}); err != nil || len(done) != 3 || done[0].Err != nil {
			t.Fatalf("a dry run: %+v, %v", done, err)
		}
	}
	interrupted, interrupt := context.WithCancel(ctx)
	defer interrupt()
	for u, err := range second.Runs().Upgrade(interrupted, codemode.UpgradeOptions{}) {
		if err == nil {
			ids = append(ids, u.ID)
			interrupt()
		} else if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if len(ids) != 4 {
		t.Errorf("%d runs were upgraded until the interruption, want 1", len(ids)-3)
	}
	ids = ids[:3]
	done, err := upgrade(ctx, second, codemode.UpgradeOptions{})
	if err != nil || len(done) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, u := range done {
		if u.Err != nil {
			t.Errorf("%s: %v", u.ID, u.Err)
		}
	}
	if done, err := upgrade(ctx, second, codemode.UpgradeOptions{}); err != nil || len(done) != 0 {
		t.Errorf("the second time: %+v, %v", done, err)
	}
	for i, id := range ids {
		wantValue(t, second.Wait(ctx, me, id), fmt.Sprint(i))
	}
}

// TestAProgramThatHasNotStartedNeedsNoOldGuest: a person has to allow it first. The build that
// stored its run is gone then, and it starts on the new one; from there it can be replayed.
func TestAProgramThatHasNotStartedNeedsNoOldGuest(t *testing.T) {
	t.Parallel()
	ctx, dir, desk := t.Context(), mkdir(t), newDesk()
	cfg := desk.config(nil, asks(policy.ApprovalRequest{}, policy.ExecTool.ID()))
	on := func(guest string) *host.Host {
		cfg := kept(t, dir, cfg)
		cfg.Guests.Path = guest
		return start(t, cfg)
	}
	first := on(anotherGuest(t))
	id := wantWaiting(t, first.Exec(host.WithAskingCaller(ctx), me, host.ExecInput{Code: `await yield_control(); return 42`}), codemode.ReasonApproval)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := on("")
	if list, err := second.Runs().All(ctx); err != nil || len(list) != 1 || list[0].Foreign {
		t.Errorf("%+v, %v", list, err)
	}
	if done, err := upgrade(ctx, second, codemode.UpgradeOptions{}); err != nil || len(done) != 0 {
		t.Errorf("upgraded %+v, %v", done, err)
	}
	decide(t, second, (<-desk.asked).ID, policy.AllowOnce)
	wantWaiting(t, second.Wait(ctx, me, id), codemode.ReasonYield)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, on(anotherGuest(t)).Wait(ctx, me, id), `42`)
}

// TestARunThatLacksItsToolsIsNotReplayed: it is as it was for a host that has them, with the
// old guest or without.
func TestARunThatLacksItsToolsIsNotReplayed(t *testing.T) {
	t.Parallel()
	ctx, dir, tool := t.Context(), mkdir(t), owned("read", "notes")
	id := suspendedByAnotherBuild(t, dir, `await yield_control(); return (await tools.call("quoin:notes:read", {n: 1})).n`, tool)
	second := start(t, host.Config{Store: openState(t, dir)})
	before, err := second.Runs().Get(ctx, id)
	if err != nil || !before.Foreign {
		t.Fatalf("%+v, %v", before, err)
	}
	wantFailure(t, second.Wait(ctx, me, id), codemode.CodeInvalidInput, codemode.ReasonToolsMissing, codemode.PhaseHost)
	if after, err := second.Runs().Get(ctx, id); err != nil || after.GuestBuild != before.GuestBuild || !after.Foreign {
		t.Errorf("%+v, %v; before %+v", after, err, before)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{tool}}).Wait(ctx, me, id), `1`)
}

// TestUpgradeOfARunThatEnds: a run that ends while others are replayed is not said to be left.
func TestUpgradeOfARunThatEnds(t *testing.T) {
	t.Parallel()
	dir := mkdir(t)
	id := suspendedByAnotherBuild(t, dir, `await yield_control(); return 1`)
	ended := suspendedByAnotherBuild(t, dir, `await yield_control(); return 2`)
	h := start(t, host.Config{Store: endsAtClaim{openState(t, dir), ended}})
	done, err := upgrade(t.Context(), h, codemode.UpgradeOptions{})
	if err != nil || len(done) != 1 || done[0].ID != id || done[0].Err != nil {
		t.Errorf("%+v, %v", done, err)
	}
}

// endsAtClaim is a store with a run that another host ends before this one claims it.
type endsAtClaim struct {
	runstore.Store
	id string
}

func (s endsAtClaim) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	if id == s.id {
		return nil, runstore.ErrNotFound
	}
	return s.Store.Claim(ctx, id)
}

// awaitCalls returns once so many calls of a run are pending and the others settled.
func awaitCalls(t *testing.T, h *host.Host, id string, n int) {
	t.Helper()
	for {
		list, err := h.Runs().All(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.ID == id && len(r.PendingToolCalls) == n {
				return
			}
		}
	}
}

// TestAReplayedRunIsItsHosts: a run that was replayed when its call was allowed, without a
// caller, resumes at this host when a caller waits for it. Its call is made once.
func TestAReplayedRunIsItsHosts(t *testing.T) {
	t.Parallel()
	dir, desk, g := t.TempDir(), newDesk(), newGate()
	cfg := desk.config([]catalog.Tool{g.tool("slow")}, asks(policy.ApprovalRequest{Timeout: time.Hour}, "slow"))
	before := cfg
	before.Guests.Path = anotherGuest(t)
	first := start(t, kept(t, dir, before))
	id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await tools.slow({n: 1})`}), codemode.ReasonApproval)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, _ := advancing(t, kept(t, dir, cfg))
	approvals := openState(t, dir).Approvals()
	if _, err := policy.Decide(t.Context(), approvals, (<-desk.asked).ID, policy.AllowOnce, "bob", time.Now()); err != nil {
		t.Fatal(err)
	}
	<-g.entered
	if r := second.WaitFor(t.Context(), me, id, briefly); r.Status != host.StatusWaiting {
		t.Errorf("a wait while the tool runs: %s", show(r))
	}
	close(g.open)
	if r := second.Wait(t.Context(), me, id); r.Status != host.StatusCompleted || len(g.entered) > 0 {
		t.Errorf("%s, and %d more calls", show(r), len(g.entered))
	}
}
