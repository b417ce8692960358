package runstoretest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quoinhq/quoin/host/runstore"
)

// testInventory: every host is told of all that is kept, in order, also of what has expired
// and is not swept yet, and of nothing that has gone.
func testInventory(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	if _, ok := hosts[0].(runstore.Inventory); !ok {
		t.Skip("this store does not say what it keeps")
	}
	check := func(when string, want ...runstore.Item) {
		t.Helper()
		for i, s := range hosts {
			got, err := s.(runstore.Inventory).Items(ctx)
			must(t, err)
			if d := cmp.Diff(want, got, cmpopts.IgnoreFields(runstore.Item{}, "Bytes"), cmpopts.EquateApproxTime(time.Second), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("host %d, %s (-want +got):\n%s", i, when, d)
			}
			for _, item := range got {
				if item.Bytes <= 0 {
					t.Errorf("host %d, %s: %s %s takes %d bytes", i, when, item.Kind, item.ID, item.Bytes)
				}
			}
		}
	}
	check("of an empty store")

	now := time.Now()
	later, over := now.Add(time.Hour), now.Add(-time.Hour)
	for id, expires := range map[string]time.Time{"run_b": later, "run_a": over} {
		r := Record(id, 1)
		r.Expires = expires
		put(t, hosts[0], r)
	}
	c := create(t, hosts[1], Record("run_c", 1))
	must(t, c.End(ctx, Ended("run_c", `{"status":"completed"}`)))
	want := []runstore.Item{
		{ID: "run_a", Kind: runstore.ItemRun, Expires: over},
		{ID: "run_b", Kind: runstore.ItemRun, Expires: later},
		{ID: "run_c", Kind: runstore.ItemResult, Expires: later},
	}
	if e, ok := hosts[0].(runstore.EffectStore); ok {
		j, err := e.OpenEffects(ctx, "run_b", &runstore.Effects{Created: now, Expires: later})
		must(t, err)
		must(t, j.Put(true, effect(1, runstore.EffectDone)))
		j.Close()
		want = []runstore.Item{want[0], {ID: "run_b", Kind: runstore.ItemEffects, Expires: later}, want[1], want[2]}
	}
	check("with a claimed result", want...)
	must(t, c.Delete(ctx))
	check("with a claim of a run that is gone", want[:len(want)-1]...)
	c.Release()
	_, err := hosts[0].Sweep(ctx, now)
	must(t, err)
	check("swept", want[1:len(want)-1]...)
}
