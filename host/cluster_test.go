package host_test

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// TestAnyHostAnswersAWait: a run's call is in flight at one host, and a caller waits for the
// run at another host. The result is delivered once.
func TestAnyHostAnswersAWait(t *testing.T) {
	t.Parallel()
	_, g, holder, other := startPeers(t)
	id := suspendedAt(t, holder, `return await tools.slow()`)
	<-g.entered
	stranger := host.Session{SessionID: "stranger"}
	wantFailure(t, other.Wait(t.Context(), stranger, id), codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput)

	results := make(chan *host.Result)
	go func() { results <- other.Wait(t.Context(), me, id) }()
	g.open <- struct{}{}
	wantValue(t, <-results, `"through"`)
	if len(g.entered) != 0 {
		t.Error("the call was made twice")
	}
	for _, h := range []*host.Host{holder, other} {
		wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	}
}

// suspendedAt suspends a program at a host, which waits for a tool.
func suspendedAt(t *testing.T, h *host.Host, code string) string {
	t.Helper()
	return wantWaiting(t, h.Exec(t.Context(), me, host.ExecInput{Wait: soon, Code: code}), codemode.ReasonPendingTools)
}

// TestTheTimeOfACallerAtAnotherHost: the run is suspended where it is held, and the caller
// may wait again at any host.
func TestTheTimeOfACallerAtAnotherHost(t *testing.T) {
	t.Parallel()
	_, g, holder, other := startPeers(t)
	id := suspendedAt(t, holder, `return await tools.slow()`)
	wantWaiting(t, other.WaitFor(t.Context(), me, id, soon), codemode.ReasonPendingTools)
	close(g.open)
	wantValue(t, holder.Wait(t.Context(), me, id), `"through"`)
}

// TestACallerLeavesAnotherHost: when the context of a Wait ends, the run is aborted at
// whatever host holds it.
func TestACallerLeavesAnotherHost(t *testing.T) {
	t.Parallel()
	_, g, holder, other := startPeers(t)
	id := suspendedAt(t, holder, `return await tools.slow()`)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-g.entered
		leave()
	}()
	other.Wait(ctx, me, id)
	if cause := <-g.ended; cause == nil {
		t.Error("the call of a run that was aborted goes on")
	}
	r := other.Wait(t.Context(), me, id)
	if r.Code == codemode.CodeAborted { // the holder aborted it before it saw that the caller had left: the result was kept
		r = other.Wait(t.Context(), me, id)
	}
	wantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
}

// TestAnyHostAborts aborts a run that has a call in flight at another host.
func TestAnyHostAborts(t *testing.T) {
	t.Parallel()
	_, g, holder, other := startPeers(t)
	id := suspendedAt(t, holder, `return await tools.slow()`)
	wantFailure(t, other.Abort(t.Context(), host.Session{SessionID: "stranger"}, id), codemode.CodeInvalidInput, codemode.ReasonWrongSession, codemode.PhaseInput)
	wantFailure(t, other.Abort(t.Context(), me, id), codemode.CodeAborted, "", codemode.PhaseHost)
	<-g.ended
	wantFailure(t, holder.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
	again := suspendedAt(t, holder, `return await tools.slow()`)
	if n, err := other.EndSession(t.Context(), me); n != 1 || err != nil {
		t.Errorf("EndSession ended %d runs, %v: want that of the other host", n, err)
	}
	wantFailure(t, holder.Wait(t.Context(), me, again), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
}

// TestAnyHostTakesAnswers enters the answer of the caller at a host that does not hold the
// run, twice.
func TestAnyHostTakesAnswers(t *testing.T) {
	t.Parallel()
	shared := newSharedRuns()
	holder, other := startPeer(t, shared.of("holder")), startPeer(t, shared.of("other"))
	asked := holder.Exec(t.Context(), me, host.ExecInput{Code: `return await tools.ask({n: 1})`, Tools: []catalog.Tool{{Name: "ask", Description: "Asks the caller."}}, Wait: time.Second})
	if len(asked.PendingToolCalls) != 1 {
		t.Fatalf("got %s", show(asked))
	}
	for range 2 {
		if err := other.Answer(t.Context(), me, asked.RunID, asked.PendingToolCalls[0].ID, host.ToolAnswer{Value: json.RawMessage(`"yes"`)}); err != nil {
			t.Fatal(err)
		}
	}
	wantValue(t, other.Wait(t.Context(), me, asked.RunID), `"yes"`)
}

// TestACallerOfAnotherHostAsksPeople: the caller of a wait asks people itself. The wait
// returns at once with the questions for them, as it does at the host that holds the run.
func TestACallerOfAnotherHostAsksPeople(t *testing.T) {
	t.Parallel()
	shared := newSharedRuns()
	peer := func(name string) *host.Host {
		cfg := newDesk().config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{Title: "Echo?", Severity: policy.SeverityCritical}, "echo"))
		cfg.Store, cfg.Cluster = shared.of(name), host.ClusterConfig{Listen: "127.0.0.1:0", Secret: clusterSecret}
		return start(t, cfg)
	}
	holder, other := peer("holder"), peer("other")
	held := holder.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return await Promise.all([tools.echo({n: 1}), tools.echo({n: 2})])`})
	id := wantWaiting(t, held, codemode.ReasonApproval)
	results := make(chan *host.Result, 1)
	go func() { results <- other.Wait(host.WithAskingCaller(t.Context()), me, id) }()
	select {
	case res := <-results:
		wantWaiting(t, res, codemode.ReasonApproval)
		if d := cmp.Diff(held.PendingApprovals, res.PendingApprovals); d != "" || len(res.PendingApprovals) != 2 {
			t.Fatalf("pending approvals (-of the holder +of the other host):\n%s", d)
		}
	case <-time.After(time.Minute):
		t.Fatal("the caller has not heard of what people are asked in a minute")
	}
	for _, a := range held.PendingApprovals {
		decide(t, holder, a.ID, policy.AllowOnce)
	}
	wantValue(t, other.Wait(t.Context(), me, id), `[{"n":1},{"n":2}]`)
}

// TestAnyHostShowsWhatHappens follows a run that another host drives.
func TestAnyHostShowsWhatHappens(t *testing.T) {
	t.Parallel()
	_, g, holder, other := startPeers(t)
	id := suspendedAt(t, holder, `const got = await tools.slow(); text("got it"); return got`)
	close(g.open)
	var ended, put bool
	for e, err := range other.Events(t.Context(), func(ctx context.Context) *host.Result { return other.Wait(ctx, me, id) }) {
		switch {
		case e.Event != nil:
			ended = ended || e.Event.Kind == trajectory.RunEnded
		case e.Output != nil:
			put = put || e.Output.Text() == "got it"
		case e.Result != nil:
			if err != nil {
				t.Fatal(err)
			}
			wantValue(t, e.Result, `"through"`)
		}
	}
	if !ended || !put {
		t.Errorf("its end was told: %t, its output: %t", ended, put)
	}
}

// TestARunIsTakenOver: a host falls silent while a caller waits at another one. Once its
// lease is over, that one has the run; what the silent one does then counts for nothing.
func TestARunIsTakenOver(t *testing.T) {
	t.Parallel()
	shared, old, now := newSharedRuns(), newGate(), newGate()
	slow := func(g *gate) catalog.Tool {
		tool := g.tool("slow")
		tool.Idempotent = true
		return tool
	}
	holder, other := startPeer(t, shared.of("holder"), slow(old)), startPeer(t, shared.of("other"), slow(now))
	id := suspendedAt(t, holder, `return await tools.slow()`)
	first := <-old.entered
	shared.advertise("holder", deadAddress(t))
	results := make(chan *host.Result)
	go func() { results <- other.Wait(t.Context(), me, id) }()
	shared.endLease("holder")
	second := <-now.entered
	if first.IdempotencyKey != second.IdempotencyKey {
		t.Errorf("the key changed from %s to %s", first.IdempotencyKey, second.IdempotencyKey)
	}
	close(old.open) // its answer comes too late
	close(now.open)
	wantValue(t, <-results, `"through"`)
	wantFailure(t, holder.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
}

// TestAHolderThatIsFencedLooksAgain: a caller waits at a host, and that host loses the run.
// The wait continues at the host that has the run.
func TestAHolderThatIsFencedLooksAgain(t *testing.T) {
	t.Parallel()
	shared, old, now := newSharedRuns(), newGate(), newGate()
	slow := func(g *gate) catalog.Tool {
		tool := g.tool("slow")
		tool.Idempotent = true
		return tool
	}
	holder, other := startPeer(t, shared.of("holder"), slow(old)), startPeer(t, shared.of("other"), slow(now))
	id := suspendedAt(t, holder, `return await tools.slow()`)
	<-old.entered
	results := make(chan *host.Result)
	go func() { results <- holder.Wait(t.Context(), me, id) }()
	shared.endLease("holder")
	wantWaiting(t, other.WaitFor(t.Context(), me, id, soon), codemode.ReasonPendingTools)
	close(old.open) // the journal refuses it
	close(now.open)
	wantValue(t, <-results, `"through"`)
}

// TestAHolderThatIsFencedAbortsElsewhere: a host that does not know that another has its run
// asks that one to abort it. It does not say that the run is aborted while the run continues
// there.
func TestAHolderThatIsFencedAbortsElsewhere(t *testing.T) {
	t.Parallel()
	shared, old, now := newSharedRuns(), newGate(), newGate()
	slow := func(g *gate) catalog.Tool {
		tool := g.tool("slow")
		tool.Idempotent = true
		return tool
	}
	holder, other := startPeer(t, shared.of("holder"), slow(old)), startPeer(t, shared.of("other"), slow(now))
	id := suspendedAt(t, holder, `return await tools.slow()`)
	<-old.entered
	shared.endLease("holder")
	wantWaiting(t, other.WaitFor(t.Context(), me, id, soon), codemode.ReasonPendingTools)
	<-now.entered
	wantFailure(t, holder.Abort(t.Context(), me, id), codemode.CodeAborted, "", codemode.PhaseHost)
	wantFailure(t, other.WaitFor(t.Context(), me, id, soon), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
}

// deadAddress is one at which no one listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestAHolderThatIsSilent: without an end of its lease, the caller hears that the run is
// busy when its time is over.
func TestAHolderThatIsSilent(t *testing.T) {
	t.Parallel()
	shared, g, holder, other := startPeers(t)
	id := suspendedAt(t, holder, `return await tools.slow()`)
	address, err := shared.of("other").Owner(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for name, silent := range map[string]string{"no one listens": deadAddress(t), "another host listens": shared.addressOf("other"), "it has no address": ""} {
		shared.advertise("holder", silent)
		res := other.WaitFor(t.Context(), me, id, time.Second)
		if res.Status != host.StatusFailed || res.Reason != codemode.ReasonRunBusy {
			t.Errorf("%s: got %s", name, show(res))
		}
	}
	shared.advertise("holder", address.Address)
	close(g.open)
	wantValue(t, other.Wait(t.Context(), me, id), `"through"`)
}

// TestAHostThatEndsLetsOthersHaveItsRuns: a caller waits at another host when the one that
// holds the run shuts down.
func TestAHostThatEndsLetsOthersHaveItsRuns(t *testing.T) {
	t.Parallel()
	_, g, holder, other := startPeers(t)
	id := suspendedAt(t, holder, `return await tools.slow()`)
	<-g.entered
	results := make(chan *host.Result)
	go func() { results <- other.Wait(t.Context(), me, id) }()
	ended := make(chan error)
	go func() { ended <- holder.Shutdown(t.Context()) }()
	close(g.open) // the answer reaches the store before the host has ended
	res := <-results
	if res.Status == host.StatusWaiting { // the host has parked the run at once
		res = other.Wait(t.Context(), me, id)
	}
	wantValue(t, res, `"through"`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestClustersAreConfigured refuses what makes no cluster.
func TestClustersAreConfigured(t *testing.T) {
	t.Parallel()
	secret := func(text string) func() (string, error) { return func() (string, error) { return text, nil } }
	long, _ := clusterSecret()
	for name, cfg := range map[string]host.Config{
		"no store that hosts share": {Cluster: host.ClusterConfig{Listen: "127.0.0.1:0", Secret: secret(long)}},
		"no secret":                 {Store: newSharedRuns().of("a"), Cluster: host.ClusterConfig{Listen: "127.0.0.1:0"}},
		"a short secret":            {Store: newSharedRuns().of("a"), Cluster: host.ClusterConfig{Listen: "127.0.0.1:0", Secret: secret("short")}},
		"a secret and certificates": {Store: newSharedRuns().of("a"), Cluster: host.ClusterConfig{Secret: secret(long), CertFile: "c", KeyFile: "k", CAFile: "a"}},
		"no authority":              {Store: newSharedRuns().of("a"), Cluster: host.ClusterConfig{CertFile: "c", KeyFile: "k"}},
		"an address without a port": {Store: newSharedRuns().of("a"), Cluster: host.ClusterConfig{Listen: "127.0.0.1:0", Advertise: "here", Secret: secret(long)}},
		"no address to advertise":   {Store: newSharedRuns().of("a"), Cluster: host.ClusterConfig{Listen: ":0", Secret: secret(long)}},
	} {
		h, err := newHost(cfg)
		if err == nil {
			t.Errorf("%s: the host has started", name)
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

var _ runstore.Shared = (*hostView)(nil)
