package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// goneStore is a store that may be away. While it is, what asks it hangs.
type goneStore struct {
	runstore.Memory
	state atomic.Pointer[runstore.HealthState]
}

func (s *goneStore) becomes(state runstore.HealthState) { s.state.Store(&state) }

func (s *goneStore) Health(context.Context) runstore.Health {
	return runstore.Health{State: *s.state.Load()}
}

func (s *goneStore) hang(ctx context.Context) {
	if !s.state.Load().Works() {
		<-ctx.Done()
	}
}

func (s *goneStore) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	s.hang(ctx)
	return s.Memory.Create(ctx, r, max)
}

func (s *goneStore) Get(ctx context.Context, id string) (*runstore.Record, error) {
	s.hang(ctx)
	return s.Memory.Get(ctx, id)
}

func (s *goneStore) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	s.hang(ctx)
	return s.Memory.Claim(ctx, id)
}

// TestAStoreThatIsGoneIsNotAsked: a program that would be suspended and a wait for a stored
// run fail before they ask a store that is known to be away, and before the program makes its
// effects. A run from before resumes later.
func TestAStoreThatIsGoneIsNotAsked(t *testing.T) {
	t.Parallel()
	store := &goneStore{}
	store.becomes(runstore.HealthOK)
	var effects atomic.Int64
	h := start(t, host.Config{Store: store, Tools: []catalog.Tool{{Name: "add", Description: "Adds one.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		effects.Add(1)
		return json.RawMessage("1"), nil
	}}}})
	before := wantWaiting(t, exec(h, `await yield_control(); return 42`), codemode.ReasonYield)
	for _, state := range []runstore.HealthState{runstore.HealthGone, runstore.HealthReadOnly} {
		store.becomes(state)
		wantValue(t, exec(h, `return 7`), "7")
		for what, res := range map[string]*host.Result{"exec": exec(h, `await tools.add({}); await yield_control(); return 1`), "wait": h.Wait(t.Context(), me, before)} {
			wantFailure(t, res, codemode.CodeUnavailable, codemode.ReasonStoreFailed, codemode.PhaseHost)
			if !strings.Contains(res.Error, "Try again later") {
				t.Errorf("%s does not say what to do: %s", what, res.Error)
			}
			if what == "exec" && !strings.Contains(res.Error, "was not started, because it has yield_control in it") {
				t.Errorf("exec does not say why: %s", res.Error)
			}
			if kept := strings.Contains(res.Error, "The run is kept as it was"); kept != (what == "wait") {
				t.Errorf("%s says that the run is kept: %t", what, kept)
			}
		}
	}
	if n := effects.Load(); n != 0 {
		t.Errorf("%d effects of programs that could not be suspended", n)
	}
	store.becomes(runstore.HealthSlow)
	wantValue(t, h.Wait(t.Context(), me, before), "42")
}
