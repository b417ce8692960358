package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
)

// fencing is a store with claims and journals of effects that are over as soon as they are
// made. It counts the writes that it refuses.
type fencing struct {
	*sqlite.DB
	refused atomic.Int64
}

func (s *fencing) refuse() error {
	s.refused.Add(1)
	return runstore.ErrFenced
}

func (s *fencing) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := s.DB.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	return &fencedClaim{c, s}, nil
}

func (s *fencing) OpenEffects(ctx context.Context, id string, header *runstore.Effects) (runstore.EffectJournal, error) {
	j, err := s.DB.OpenEffects(ctx, id, header)
	if err != nil {
		return nil, err
	}
	return &fencedEffects{j, s}, nil
}

type fencedClaim struct {
	runstore.Claim
	store *fencing
}

func (c *fencedClaim) Delete(context.Context) error { return c.store.refuse() }

type fencedEffects struct {
	runstore.EffectJournal
	store *fencing
}

func (j *fencedEffects) Put(bool, ...runstore.Effect) error { return j.store.refuse() }

// TestFencedWritesAreCounted, whatever it is that writes.
func TestFencedWritesAreCounted(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(t *testing.T, live, stale *host.Host){
		"the end of a run that was aborted": func(t *testing.T, live, stale *host.Host) {
			id := wantWaiting(t, exec(live, `await yield_control()`), codemode.ReasonYield)
			if r := stale.Abort(t.Context(), me, id); r.Status != host.StatusFailed {
				t.Errorf("aborted: %s", show(r))
			}
		},
		"a result that was delivered": func(t *testing.T, live, stale *host.Host) {
			id := wantWaiting(t, exec(live, `await yield_control(); return 42`), codemode.ReasonYield)
			d := stale.Deliver(t.Context(), me, id, 0)
			wantValue(t, d.Result, `42`)
			d.Done()
		},
		"an effect": func(_ *testing.T, _, stale *host.Host) {
			exec(stale, `await tools.put({name: "a", value: "1"})`)
		},
		"an effect that is undone": func(t *testing.T, live, stale *host.Host) {
			id := wantWaiting(t, exec(live, `await tools.put({name: "a", value: "1"}); await yield_control(); return 1`), codemode.ReasonYield)
			wantValue(t, live.Wait(t.Context(), me, id), `1`)
			if _, err := stale.Effects().Undo(t.Context(), me, id, host.UndoOptions{}); err == nil {
				t.Error("it was undone")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, tools := mkdir(t), newShelf(mkdir(t)).tools()
			store := openState(t, dir)
			fencing := &fencing{DB: store}
			stale := start(t, host.Config{Store: fencing, Tools: tools})
			write(t, start(t, host.Config{Store: openState(t, dir), Tools: tools}), stale)
			refused := fencing.refused.Load()
			if refused == 0 {
				t.Fatal("no write was refused")
			}
			want := fmt.Sprintf("# HELP quoin_store_writes_fenced_total Writes of runs that the store refused because another host had taken the run over.\n"+
				"# TYPE quoin_store_writes_fenced_total counter\nquoin_store_writes_fenced_total %d\n", refused)
			if err := testutil.GatherAndCompare(stale.Metrics(), strings.NewReader(want), "quoin_store_writes_fenced_total"); err != nil {
				t.Error(err)
			}
		})
	}
}
