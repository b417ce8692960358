package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
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

// briefly is a caller's time that is over before anything has happened.
const briefly = time.Millisecond

// overheard is a sink that a test waits on. Several hosts may share it.
type overheard chan trajectory.Event

func newOverheard() overheard { return make(overheard, 1000) }

// Record implements trajectory.Sink.
func (c overheard) Record(e trajectory.Event) error {
	c <- e
	return nil
}

// until returns the next event of one kind about a run.
func (c overheard) until(t *testing.T, id string, kind trajectory.Kind) trajectory.Event {
	t.Helper()
	for {
		select {
		case e := <-c:
			if e.RunID == id && e.Kind == kind {
				return e
			}
		case <-t.Context().Done():
			t.Fatalf("run %s: no %s", id, kind)
		case <-time.After(time.Minute):
			t.Fatalf("run %s: no %s in a minute", id, kind)
		}
	}
}

// advancing returns a host that continues runs without a caller, and the events it reports.
func advancing(t *testing.T, cfg host.Config) (*host.Host, overheard) {
	c := newOverheard()
	cfg.Advance, cfg.Trajectory.Sink = 4, c
	return start(t, cfg), c
}

func texts(r *host.Result) (out []string) {
	for _, o := range r.Output {
		out = append(out, o.Text())
	}
	return out
}

func wantTexts(t *testing.T, r *host.Result, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, texts(r)); d != "" {
		t.Errorf("output (-want +got):\n%s", d)
	}
}

// execBriefly starts a program. Its run is suspended as soon as it can only wait.
func execBriefly(t *testing.T, h *host.Host, reason codemode.Reason, code string) (id string) {
	t.Helper()
	return wantWaiting(t, h.Exec(t.Context(), me, host.ExecInput{Wait: briefly, Code: code}), reason)
}

// TestAdvance: when its tool answers or its timer is over, a suspended run continues to its
// end without a caller. The next wait gets the result and all output since the last wait,
// once.
func TestAdvance(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() runstore.Store{
		"memory":    func() runstore.Store { return &runstore.Memory{} },
		"directory": func() runstore.Store { return openDir(t, mkdir(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			h, told := advancing(t, host.Config{Store: open(), Tools: []catalog.Tool{g.tool("slow"), echo("echo")}})
			id := execBriefly(t, h, codemode.ReasonPendingTools, `
				text("before");
				const got = await tools.slow();
				text("after");
				return [got, (await tools.echo({n: 1})).n]`)
			close(g.open)
			if e := told.until(t, id, trajectory.RunEnded); e.Code != "" {
				t.Fatalf("it ended with %+v", e)
			}
			r := h.Wait(t.Context(), me, id)
			wantValue(t, r, `["through",1]`)
			wantTexts(t, r, "after")
			wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)

			id = execBriefly(t, h, codemode.ReasonTimer, `await new Promise(r => setTimeout(r, 100)); text("rang"); throw new Error("late")`)
			told.until(t, id, trajectory.RunEnded)
			r = h.Wait(t.Context(), me, id)
			wantFailure(t, r, codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
			wantTexts(t, r, "rang")
		})
	}
}

// TestAdvanceAfterARestart: timers continue in the next host of the store. Output made without
// a caller in the first host is there for the wait in the third.
func TestAdvanceAfterARestart(t *testing.T) {
	t.Parallel()
	dir, g := mkdir(t), newGate()
	tools := []catalog.Tool{g.tool("slow")}
	first := start(t, host.Config{Store: openDir(t, dir), Tools: tools})
	id := execBriefly(t, first, codemode.ReasonTimer, `
		const sleep = ms => new Promise(r => setTimeout(r, ms));
		text("one"); await sleep(20); text("two"); await tools.slow(); text("three"); return 3`)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, told := advancing(t, host.Config{Store: openDir(t, dir), Tools: tools, DrainTimeout: 1})
	<-g.entered
	told.until(t, id, trajectory.RunSuspended)
	close(g.open)
	if e := told.until(t, id, trajectory.RunEnded); e.Code != "" {
		t.Fatalf("it ended with %+v", e)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	r := start(t, host.Config{Store: openDir(t, dir), Tools: tools}).Wait(t.Context(), me, id)
	wantValue(t, r, "3")
	wantTexts(t, r, "two", "three")
}

// TestAdvanceKeepsOutput of a run that is suspended again, for a wait here and in the next host.
func TestAdvanceKeepsOutput(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run("restarts="+strconv.FormatBool(restarts), func(t *testing.T) {
			t.Parallel()
			dir, g, never := mkdir(t), newGate(), newGate()
			ask := never.tool("never")
			ask.ReadOnly = true
			cfg := host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{g.tool("slow"), ask}, DrainTimeout: 1}
			h, told := advancing(t, cfg)
			id := execBriefly(t, h, codemode.ReasonPendingTools, `await tools.slow(); text("kept"); const v = await tools.never(); text("end"); return v`)
			before, err := cfg.Store.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			told.until(t, id, trajectory.RunSuspended)
			close(g.open)
			told.until(t, id, trajectory.RunSuspended)
			now, err := cfg.Store.Get(t.Context(), id)
			if err != nil || now.Generation <= before.Generation || !now.Expires.Equal(before.Expires) {
				t.Errorf("got %+v (%v), want it to expire at %v as before", now, err, before.Expires)
			}
			if restarts {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				cfg.Store = openDir(t, dir)
				h = start(t, cfg)
			}
			r := h.WaitFor(t.Context(), me, id, briefly)
			wantWaiting(t, r, codemode.ReasonPendingTools)
			wantTexts(t, r, "kept")
			close(never.open)
			r = h.Wait(t.Context(), me, id)
			wantValue(t, r, `"through"`)
			wantTexts(t, r, "end")
		})
	}
}

// TestACallerTakesARunOver that is being advanced: it is neither refused nor made to wait for
// the end of the run, and nothing is done twice.
func TestACallerTakesARunOver(t *testing.T) {
	t.Parallel()
	first, second := newGate(), newGate()
	h, _ := advancing(t, host.Config{Store: openDir(t, mkdir(t)), Tools: []catalog.Tool{first.tool("first"), second.tool("second")}})
	id := execBriefly(t, h, codemode.ReasonPendingTools, `await tools.first(); text("one"); await tools.second(); text("two"); return 1`)
	close(first.open)
	<-second.entered // the advance waits for it
	r := h.WaitFor(t.Context(), me, id, briefly)
	wantWaiting(t, r, codemode.ReasonPendingTools)
	wantTexts(t, r, "one")
	close(second.open)
	r = h.Wait(t.Context(), me, id)
	wantValue(t, r, "1")
	wantTexts(t, r, "two")
	if n := len(second.entered); n != 0 {
		t.Errorf("the second tool was called %d times more", n)
	}
}

// TestAnAbortedRunLeavesNothing: who has ended a run that was being advanced does not wait for it.
func TestAnAbortedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *host.Host, id string) error{
		"abort": func(h *host.Host, id string) error {
			if r := h.Abort(context.Background(), me, id); r.Code != codemode.CodeAborted {
				return fmt.Errorf("got %s", show(r))
			}
			return nil
		},
		"end of the session": func(h *host.Host, _ string) error {
			n, err := h.EndSession(context.Background(), me)
			if n != 1 {
				return fmt.Errorf("%d runs were ended (%w)", n, err)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := openDir(t, mkdir(t))
			first, second := newGate(), newGate()
			h, _ := advancing(t, host.Config{Store: store, Tools: []catalog.Tool{first.tool("first"), second.tool("second")}})
			id := execBriefly(t, h, codemode.ReasonPendingTools, `await tools.first(); return await tools.second()`)
			close(first.open)
			<-second.entered
			if err := end(h, id); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Ended(t.Context(), id); !errors.Is(err, runstore.ErrNotFound) {
				t.Errorf("the store keeps a result: %v", err)
			}
			wantFailure(t, h.Wait(t.Context(), me, id), codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput)
		})
	}
}

// TestAYieldWaitsForItsCaller: the program's other work continues in the meantime.
func TestAYieldWaitsForItsCaller(t *testing.T) {
	t.Parallel()
	g := newGate()
	h, told := advancing(t, host.Config{Store: openDir(t, mkdir(t)), Tools: []catalog.Tool{g.tool("slow")}})
	id := execBriefly(t, h, codemode.ReasonPendingTools, `const p = tools.slow().then(() => text("answered")); await yield_control(); text("came back"); await p; return 1`)
	told.until(t, id, trajectory.RunSuspended)
	close(g.open)
	told.until(t, id, trajectory.RunSuspended)
	r := h.Wait(t.Context(), me, id)
	wantValue(t, r, "1")
	wantTexts(t, r, "answered", "came back")
}

// TestClosingKeepsWhatIsAdvanced: a host that closes leaves the run to the next, as it is.
func TestClosingKeepsWhatIsAdvanced(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*host.Host) error{
		"close":    (*host.Host).Close,
		"shutdown": func(h *host.Host) error { return h.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mkdir(t)
			first, second := newGate(), newGate()
			again := second.tool("second")
			again.Idempotent = true
			tools := []catalog.Tool{first.tool("first"), again}
			h, _ := advancing(t, host.Config{Store: openDir(t, dir), Tools: tools, DrainTimeout: 1})
			id := execBriefly(t, h, codemode.ReasonPendingTools, `await tools.first(); text("one"); return await tools.second()`)
			close(first.open)
			<-second.entered
			if err := end(h); err != nil {
				t.Fatal(err)
			}
			close(second.open)
			next, told := advancing(t, host.Config{Store: openDir(t, dir), Tools: tools})
			told.until(t, id, trajectory.RunEnded)
			r := next.Wait(t.Context(), me, id)
			wantValue(t, r, `"through"`)
			wantTexts(t, r, "one")
		})
	}
}

// TestDecisionsWithoutAHost: a host ends while a person is asked. The run resumes in another
// host once the person has decided, or the time for that is over.
func TestDecisionsWithoutAHost(t *testing.T) {
	t.Parallel()
	denied := `["The call of \"echo\" was denied: %s.","denied","none","quoin:core:echo"]`
	for _, tc := range []struct {
		name    string
		timeout time.Duration
		decide  policy.Decision // by a process without a host
		want    string
	}{
		{"allowed", time.Hour, policy.AllowOnce, `{"n":1}`},
		{"denied", time.Hour, policy.Deny, fmt.Sprintf(denied, "a person decided so")},
		{"expired", time.Second, "", fmt.Sprintf(denied, "no one approved it in time")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir, desk := t.TempDir(), newDesk()
			cfg := desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{Timeout: tc.timeout}, "echo"))
			first := start(t, kept(t, dir, cfg))
			id := wantWaiting(t, first.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: refused}), codemode.ReasonApproval)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second, told := advancing(t, kept(t, dir, cfg))
			if tc.decide != "" {
				_, approvals, err := stateDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := policy.Decide(t.Context(), approvals, (<-desk.asked).ID, tc.decide, "bob", time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			told.until(t, id, trajectory.RunEnded)
			wantValue(t, second.Wait(t.Context(), me, id), tc.want)
		})
	}
}

// TestSeveralHostsAdvance: several hosts share one store. Each run continues in one host at a
// time, to its end, and each of its calls is made once.
func TestSeveralHostsAdvance(t *testing.T) {
	t.Parallel()
	const runs = 20
	dir, all := mkdir(t), newOverheard()
	var mu sync.Mutex
	calls := map[string]int{}
	note := catalog.Tool{Name: "note", Description: "Notes its call.", Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		mu.Lock()
		defer mu.Unlock()
		calls[c.RunID+string(c.Input)]++
		return json.RawMessage("null"), nil
	}}
	first := start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{note}})
	var ids []string
	for i := range runs {
		s := me
		s.SessionID = strconv.Itoa(i % 3)
		r := first.Exec(t.Context(), s, host.ExecInput{Wait: briefly, Code: `
			for (let i = 0; i < 3; i++) { await new Promise(r => setTimeout(r, 10)); await tools.note({i}); text(String(i)) }
			return 1`})
		ids = append(ids, wantWaiting(t, r, codemode.ReasonTimer))
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	var hosts []*host.Host
	for range 3 {
		hosts = append(hosts, start(t, host.Config{Store: openDir(t, dir), Tools: []catalog.Tool{note}, Advance: 2, Trajectory: host.TrajectoryConfig{Sink: all}}))
	}
	for left := slices.Clone(ids); len(left) > 0; {
		e := <-all
		if e.Kind == trajectory.RunEnded {
			left = slices.DeleteFunc(left, func(id string) bool { return id == e.RunID })
		}
	}
	for i, id := range ids {
		s := me
		s.SessionID = strconv.Itoa(i % 3)
		r := hosts[i%len(hosts)].Wait(t.Context(), s, id)
		wantValue(t, r, "1")
		wantTexts(t, r, "0", "1", "2")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(calls) != 3*runs {
		t.Errorf("%d calls of %d", len(calls), 3*runs)
	}
	for c, n := range calls {
		if n != 1 {
			t.Errorf("%s was called %d times", c, n)
		}
	}
}

// TestAdvanceAfterAKill: whenever a host is killed, its run continues in the next host without
// a caller. TestHostIsKilledAtAnyStage is the same with a caller.
func TestAdvanceAfterAKill(t *testing.T) {
	t.Parallel()
	const once = "first :2\nsecond :3\n"
	for _, tc := range []struct{ stage, kind, want, calls string }{
		{"first recorded", "plain", `["unknown","done"]`, "second :3\n"},
		{"first in flight", "idempotent", `["done","done"]`, "first :2\nfirst :2\nsecond :3\n"},
		{"first settled", "plain", `["done","done"]`, once},
		{"second in flight", "plain", `["done","unknown"]`, once},
		{"second settled", "plain", `["done","done"]`, once},
	} {
		t.Run(tc.stage+"/"+tc.kind, func(t *testing.T) {
			t.Parallel()
			dir := mkdir(t)
			id := crashed(t, dir, tc.stage, tc.kind)
			h, told := advancing(t, host.Config{Store: openDir(t, dir), Tools: crashTools(dir, tc.kind, func(string) {})})
			told.until(t, id, trajectory.RunEnded)
			r := h.Wait(t.Context(), me, id)
			wantValue(t, r, tc.want)
			var value []string
			if err := json.Unmarshal(r.Value, &value); err != nil {
				t.Fatal(err)
			}
			wantTexts(t, r, "resumed", "first "+value[0], "second "+value[1])
			calls, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.calls, string(calls)); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
		})
	}
}

// unreadable is a store that cannot be read while a test says so.
type unreadable struct {
	runstore.Store
	broken atomic.Bool
	asked  chan struct{}
}

func (s *unreadable) Get(ctx context.Context, id string) (*runstore.Record, error) {
	if s.broken.Load() {
		s.asked <- struct{}{}
		return nil, errDisk
	}
	return s.Store.Get(ctx, id)
}

// TestAdvanceOutlivesAStoreThatFails: a run that cannot continue without a caller, because the
// store does not answer, is kept for its full time.
func TestAdvanceOutlivesAStoreThatFails(t *testing.T) {
	t.Parallel()
	store := &unreadable{Store: openDir(t, mkdir(t)), asked: make(chan struct{}, 100)}
	g, still := newGate(), newGate()
	h, told := advancing(t, host.Config{Store: store, Tools: []catalog.Tool{g.tool("slow"), still.tool("still")}})
	id := execBriefly(t, h, codemode.ReasonPendingTools, `const still = tools.still(); await tools.slow(); text("on"); return await still`)
	<-g.entered
	<-still.entered
	store.broken.Store(true)
	close(g.open)
	for range 2 { // the advancer tries again, long after an expiry that was due at once
		<-store.asked
	}
	store.broken.Store(false)
	close(still.open)
	if e := told.until(t, id, trajectory.RunEnded); e.Code != "" {
		t.Errorf("it ended with %+v", e)
	}
	wantValue(t, h.Wait(t.Context(), me, id), `"through"`)
}
