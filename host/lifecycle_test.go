package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// A lifecycle case is one thing that may happen to a run between its exec and its
// end. The cases are in lifecycle_*_test.go, by what they are about; a case is
// named so that internal/repotest/testdata/contract.txt can refer to it as TestLifecycle/topic/name.
type lifecycleCase struct {
	name string
	cfg  func(*host.Config)
	do   func(w *world)
}

// world is a host with tools that a case can hold back, and the store behind it.
type world struct {
	*testing.T
	cfg   host.Config
	h     *host.Host
	gates map[string]*gate
}

// gated are tools that wait until the case opens their gate; "safe" is read-only
// and "again" idempotent.
var gated = []string{"a", "b", "safe", "again"}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	topics := []struct {
		name  string
		cases []lifecycleCase
	}{
		{"drain", drainCases}, {"suspend", suspendCases}, {"wait", waitCases}, {"queue", queueCases},
		{"abort", abortCases}, {"expiry", expiryCases}, {"restart", restartCases}, {"output", outputCases},
	}
	names := 0
	for _, topic := range topics {
		names += len(topic.cases)
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range topic.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t)
				})
			}
		})
	}
	if names < 60 {
		t.Errorf("%d cases", names)
	}
}

// run runs the case in a world of its own and looks at what it has left: no run,
// no record, no claim, and every place for workers free.
func (c *lifecycleCase) run(t *testing.T) {
	w := &world{T: t, gates: map[string]*gate{}}
	w.cfg = host.Config{Guests: host.GuestConfig{Max: 2}, Store: openState(t, mkdir(t)), DrainTimeout: time.Millisecond}
	for _, name := range gated {
		g := newGate()
		tool := g.tool(name)
		tool.ReadOnly, tool.Idempotent = name == "safe", name == "again"
		w.gates[name] = g
		w.cfg.Tools = append(w.cfg.Tools, tool)
	}
	w.cfg.Tools = append(w.cfg.Tools, echo("echo"), failing("broken", "it broke"))
	if c.cfg != nil {
		c.cfg(&w.cfg)
	}
	w.h = start(t, w.cfg)
	c.do(w)
	if t.Failed() {
		return
	}
	w.nothingIsLeft()
}

func (w *world) nothingIsLeft() {
	w.Helper()
	ctx := context.Background()
	if runs, err := w.h.Runs().List(ctx, host.Session{AgentID: me.AgentID, SessionKey: me.SessionKey, SessionID: me.SessionID}); err != nil || len(runs) != 0 {
		w.Errorf("left: %+v, %v", runs, err)
	}
	records, err := w.cfg.Store.List(ctx)
	if err != nil || len(records) != 0 {
		w.Errorf("the store has %d records, %v", len(records), err)
	}
	// Both places for workers are free: two cells meet.
	together := make(chan *host.Result, 2)
	for range cap(together) {
		go func() { together <- exec(w.h, `return (await tools.echo({n: 1})).n`) }()
	}
	for range cap(together) {
		if r := <-together; string(r.Value) != "1" {
			w.Errorf("afterwards: %s", show(r))
		}
	}
}

// exec starts a program that is expected to be waiting, and returns its run.
func (w *world) exec(code string, reason codemode.Reason) string {
	w.Helper()
	return w.waiting(exec(w.h, code), reason)
}

// execSoon is exec for a program that waits for a gate until its deadline.
func (w *world) execSoon(code string) string {
	w.Helper()
	return w.waiting(w.h.Exec(context.Background(), me, host.ExecInput{Code: code, Wait: soon}), codemode.ReasonPendingTools)
}

func (w *world) wait(id string) *host.Result { return w.h.Wait(context.Background(), me, id) }

func (w *world) waitSoon(id string) *host.Result {
	return w.h.WaitFor(context.Background(), me, id, soon)
}

// background runs f and returns where its result comes.
func (w *world) background(f func() *host.Result) <-chan *host.Result {
	done := make(chan *host.Result, 1)
	go func() { done <- f() }()
	return done
}

func (w *world) open(names ...string) {
	for _, name := range names {
		close(w.gates[name].open)
	}
}

// entered waits for a call of each tool and returns the last.
func (w *world) entered(names ...string) (c catalog.Invocation) {
	for _, name := range names {
		c = <-w.gates[name].entered
	}
	return c
}

// cancelled waits until a call of each tool has been cancelled.
func (w *world) cancelled(names ...string) (cause error) {
	for _, name := range names {
		cause = <-w.gates[name].ended
	}
	return cause
}

func (w *world) value(r *host.Result, want string) {
	w.Helper()
	if r.Status != host.StatusCompleted || string(r.Value) != want {
		w.Fatalf("got %s\nwant completed %s", show(r), want)
	}
}

func (w *world) waiting(r *host.Result, reason codemode.Reason) string {
	w.Helper()
	if r.Status != host.StatusWaiting || r.Reason != reason {
		w.Fatalf("got %s\nwant waiting %s", show(r), reason)
	}
	return r.RunID
}

func (w *world) failed(r *host.Result, code codemode.Code, reason codemode.Reason) {
	w.Helper()
	if r.Status != host.StatusFailed || r.Code != code || r.Reason != reason {
		w.Fatalf("got %s\nwant failed %s/%s", show(r), code, reason)
	}
}

// gone checks that a run cannot be waited for any more.
func (w *world) gone(id string) {
	w.Helper()
	r := w.wait(id)
	if r.Reason != codemode.ReasonRunUnavailable && r.Reason != codemode.ReasonRunExpired {
		w.Fatalf("got %s, want the run to be gone", show(r))
	}
}

// output checks what a result has emitted.
func (w *world) output(r *host.Result, want ...string) {
	w.Helper()
	var got []string
	for _, o := range r.Output {
		got = append(got, o.Text())
	}
	if !slices.Equal(got, want) {
		w.Fatalf("output %q, want %q", got, want)
	}
}

// pending checks which tools a waiting result waits for.
func (w *world) pending(r *host.Result, want ...string) {
	w.Helper()
	var got []string
	for _, c := range r.PendingToolCalls {
		got = append(got, strings.TrimPrefix(c.Tool, "quoin:core:"))
	}
	if !slices.Equal(got, want) {
		w.Fatalf("pending %q, want %q", got, want)
	}
}

// calls is how often a tool has been entered and not been waited for.
func (w *world) calls(name string) int { return len(w.gates[name].entered) }

// restart closes the host and starts another with the same store and new gates.
func (w *world) restart() {
	w.Helper()
	if err := w.h.Close(); err != nil {
		w.Fatal(err)
	}
	w.renew()
}

// renew starts another host.
func (w *world) renew() {
	w.Helper()
	for i, name := range gated {
		g := newGate()
		w.gates[name] = g
		tool := g.tool(name)
		tool.ReadOnly, tool.Idempotent = w.cfg.Tools[i].ReadOnly, w.cfg.Tools[i].Idempotent
		w.cfg.Tools[i] = tool
	}
	w.h = start(w.T, w.cfg)
}

// crash leaves the host as it is and starts another with what the store holds at this moment,
// as if the first host had died.
func (w *world) crash() {
	w.Helper()
	ctx := context.Background()
	records, err := w.cfg.Store.List(ctx)
	if err != nil {
		w.Fatal(err)
	}
	copied := openState(w.T, mkdir(w.T))
	for _, r := range records {
		whole, err := w.cfg.Store.Get(ctx, r.ID)
		if err == nil {
			var claim runstore.Claim
			if claim, err = copied.Create(ctx, whole, 0); err == nil {
				claim.Release()
			}
		}
		if err != nil {
			w.Fatal(err)
		}
	}
	w.cfg.Store = copied
	w.renew()
}

// is checks a condition of a case.
func (w *world) is(ok bool, format string, args ...any) {
	w.Helper()
	if !ok {
		w.Fatalf(format, args...)
	}
}

// runs lists the runs of the session.
func (w *world) runs() []codemode.RunInfo {
	w.Helper()
	runs, err := w.h.Runs().List(context.Background(), me)
	if err != nil {
		w.Fatal(err)
	}
	return runs
}

// ended waits until a run of this host has ended by itself.
func (w *world) ended(id string) {
	w.Helper()
	w.h.Engine().Ended(id)
	if runs := w.runs(); slices.ContainsFunc(runs, func(r codemode.RunInfo) bool { return r.ID == id }) {
		w.Fatalf("left: %+v", runs)
	}
}

// eventually waits until something that is under way has happened.
func (w *world) eventually(happened func() bool) {
	for !happened() {
	}
}
