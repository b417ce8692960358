package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
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
// end without a caller.
func TestAdvance(t *testing.T) {
	t.Parallel()
	g := newGate()
	h, told := advancing(t, host.Config{Store: openState(t, mkdir(t)), Tools: []catalog.Tool{g.tool("slow"), echo("echo")}})
	id := execBriefly(t, h, codemode.ReasonPendingTools, `
		const got = await tools.slow();
		await new Promise(r => setTimeout(r, 100));
		text("after");
		return [got, (await tools.echo({n: 1})).n]`)
	close(g.open)
	told.until(t, id, trajectory.RunEnded)
	r := h.Wait(t.Context(), me, id)
	wantValue(t, r, `["through",1]`)
	wantTexts(t, r, "after")
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
	first := start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{note}})
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
		hosts = append(hosts, start(t, host.Config{Store: openState(t, dir), Tools: []catalog.Tool{note}, Advance: 2, Trajectory: host.TrajectoryConfig{Sink: all}}))
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
		for r.Reason == codemode.ReasonRunBusy { // its host lets the run go a moment after it has told its end
			r = hosts[i%len(hosts)].Wait(t.Context(), s, id)
		}
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
			h, told := advancing(t, host.Config{Store: openState(t, dir), Tools: crashTools(dir, tc.kind, func(string) {})})
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
