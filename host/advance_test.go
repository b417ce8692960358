package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
)

// briefly is a caller's time that is over before anything has happened.
const briefly = time.Millisecond

// runEvents returns what waits for an event of one kind about a run.
func runEvents(t *testing.T, h *host.Host) (next func(id string, kind trajectory.Kind) trajectory.Event) {
	events := h.Subscribe(t.Context())
	return func(id string, kind trajectory.Kind) trajectory.Event {
		t.Helper()
		for e := range events {
			if e.RunID == id && e.Kind == kind {
				return e
			}
		}
		t.Fatalf("the host has closed before %s of run %s", kind, id)
		return trajectory.Event{}
	}
}

// stores are the stores that the tests of advances run on.
func stores(t *testing.T) map[string]runstore.Store {
	return map[string]runstore.Store{"memory": &runstore.Memory{}, "directory": openDir(t, mkdir(t))}
}

func texts(r *host.Result) (out []string) {
	for _, o := range r.Output {
		out = append(out, o.Text())
	}
	return out
}

// TestAdvance: a suspended run goes on to its end when its tool answers, with no caller, and
// the next wait gets the result with everything that was put out since the last one, once.
func TestAdvance(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			h := start(t, host.Config{Store: store, Advance: 4, Tools: []catalog.Tool{g.tool("slow"), echo("echo")}})
			until := runEvents(t, h)
			r := h.Exec(context.Background(), me, host.ExecInput{Wait: briefly, Code: `
				text("before");
				const got = await tools.slow();
				text("after");
				return [got, (await tools.echo({n: 1})).n]`})
			id := wantWaiting(t, r, host.ReasonPendingTools)
			close(g.open)
			if e := until(id, trajectory.RunEnded); e.Code != "" {
				t.Fatalf("it ended with %+v", e)
			}
			r = h.Wait(context.Background(), me, id)
			wantValue(t, r, `["through",1]`)
			if got := texts(r); len(got) != 1 || got[0] != "after" {
				t.Errorf("got %q, want what was put out since the last result", got)
			}
			wantFailure(t, h.Wait(context.Background(), me, id), host.CodeInvalidInput, host.ReasonRunUnavailable, host.PhaseInput)
		})
	}
}
