package runs_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestAnAnswerBesideCloseKeepsTheRun: a run that an answer loads while its host closes
// is there for the next host.
func TestAnAnswerBesideCloseKeepsTheRun(t *testing.T) {
	InBubble(t, func(t *testing.T) {
		slow, kept := NewGate(), NewKept()
		tools := []catalog.Tool{slow.Tool("slow")}
		first := Start(t, Setup{Store: kept, Tools: tools})
		r := first.RunIn(t.Context(), run.Input{Tools: []catalog.Tool{{Name: "ask", Description: "Asks."}}}, func(g *Guest) any {
			g.Go("slow", nil)
			return g.Call("ask", N(1))
		})
		<-slow.Entered
		call := ""
		for _, c := range r.PendingToolCalls {
			if c.Input != nil {
				call = c.ID
			}
		}
		if r.Status != codemode.StatusWaiting || call == "" {
			t.Fatalf("not waiting for an answer: %s", Show(r))
		}
		first.Shut()

		entered, release, store := make(chan struct{}), make(chan struct{}), &Seam{Store: kept}
		store.PutCalls = func(ctx context.Context, c runstore.Claim, generation uint64, calls []runstore.Call) error {
			store.PutCalls = nil
			close(entered)
			<-release
			return c.PutCalls(ctx, generation, calls)
		}
		h := Start(t, Setup{Store: store, Tools: tools})
		answered, closed := make(chan error, 1), make(chan struct{})
		go func() { answered <- h.Answer(t.Context(), Me, r.RunID, call, codemode.ToolAnswer{Value: []byte(`2`)}) }()
		<-entered
		go func() {
			defer close(closed)
			h.Shut()
		}()
		for !h.IsClosing() {
			runtime.Gosched()
		}
		close(release)
		<-answered // either way
		<-closed
		if _, err := kept.Get(t.Context(), r.RunID); err != nil {
			t.Errorf("the run is gone: %v", err)
		}
	})
}
