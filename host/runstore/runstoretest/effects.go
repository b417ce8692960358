package runstoretest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

func effect(n int, state runstore.EffectState) runstore.Effect {
	return runstore.Effect{Number: n, CallID: "c", Tool: "t", State: state, Inverse: "i", Input: json.RawMessage(`{"n":1}`)}
}

// testEffects: a journal has one writer on all hosts, keeps the newest state of each
// effect, is there for the next writer, and goes once its time is over.
func testEffects(t *testing.T, d Driver) {
	ctx := context.Background()
	hosts := d.Open(t, 2)
	a, ok := hosts[0].(runstore.EffectStore)
	if !ok {
		t.Skip("this store keeps no effects")
	}
	b := hosts[1].(runstore.EffectStore)
	_, err := a.OpenEffects(ctx, "run_1", nil)
	want(t, "a journal that is not there", err, runstore.ErrNotFound)
	_, err = a.Effects(ctx, "run_1")
	want(t, "a journal that is not there", err, runstore.ErrNotFound)
	now := time.Now().UTC().Truncate(time.Second)
	header := &runstore.Effects{Session: codemode.Session{SessionID: "s"}, Created: now, Expires: now.Add(time.Hour)}
	j, err := a.OpenEffects(ctx, "run_1", header)
	must(t, err)
	for _, s := range []runstore.EffectStore{a, b} {
		_, err := s.OpenEffects(ctx, "run_1", header)
		want(t, "a second writer", err, runstore.ErrClaimed)
	}
	for _, e := range []runstore.Effect{
		effect(2, runstore.EffectUnknown), effect(1, runstore.EffectDone), effect(2, runstore.EffectDone), effect(1, runstore.EffectReverted),
	} {
		must(t, j.Put(true, e))
	}
	kept := *header
	kept.RunID, kept.Effects = "run_1", []runstore.Effect{effect(1, runstore.EffectReverted), effect(2, runstore.EffectDone)}
	got, err := b.Effects(ctx, "run_1")
	if d := cmp.Diff(&kept, got, cmpopts.IgnoreUnexported(runstore.Effects{})); d != "" || err != nil {
		t.Errorf("%v, read (-want +got):\n%s", err, d)
	}
	j.Close()
	j.Close()
	if err := j.Put(true, effect(3, runstore.EffectDone)); err == nil {
		t.Error("a journal that was closed takes an effect")
	}
	j, err = b.OpenEffects(ctx, "run_1", nil)
	must(t, err)
	defer j.Close()
	if d := cmp.Diff(&kept, j.Effects(), cmpopts.IgnoreUnexported(runstore.Effects{})); d != "" {
		t.Errorf("opened again (-want +got):\n%s", d)
	}
	list, err := a.ListEffects(ctx)
	if err != nil || len(list) != 1 || list[0].RunID != "run_1" || list[0].Effects != nil {
		t.Errorf("listed %+v, %v", list, err)
	}

	old := &runstore.Effects{Session: header.Session, Created: now, Expires: now.Add(-time.Hour)}
	o, err := a.OpenEffects(ctx, "old", old)
	must(t, err)
	_, err = b.Effects(ctx, "old")
	want(t, "a journal whose time is over", err, runstore.ErrExpired)
	_, err = hosts[1].Sweep(ctx, time.Now())
	must(t, err)
	_, err = b.Effects(ctx, "old")
	want(t, "one that has a writer, swept", err, runstore.ErrExpired)
	o.Close()
	_, err = hosts[1].Sweep(ctx, time.Now())
	must(t, err)
	_, err = b.Effects(ctx, "old")
	want(t, "one without a writer, swept", err, runstore.ErrNotFound)
}
