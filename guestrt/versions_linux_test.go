package guestrt

import (
	"context"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// TestAWorkerSpeaksWithEarlierHosts: one is sealed and answers on whatever connection a
// host of that version gives it.
func TestAWorkerSpeaksWithEarlierHosts(t *testing.T) {
	for version := wire.OldestVersion; version <= wire.Version; version++ {
		p := startWith(t, findGroups(), version)
		m, end := p.exchange(context.Background(), &wire.Start{Cell: js("return 1+1")}, in(plenty), nil)
		if r, ok := m.(*wire.Report); !ok || end != nil || string(r.Value) != "2" {
			t.Errorf("version %d: %v, %v", version, m, end)
		}
	}
}

// TestAHostSpeaksWithWorkersOfEarlierBuilds: it tries the versions until one is spoken, but
// only if it was asked for that build.
func TestAHostSpeaksWithWorkersOfEarlierBuilds(t *testing.T) {
	c := hostileConfig(t, "earlier-build")
	_, err := NewPool(context.Background(), c)
	wantEnding(t, err, wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed)
	if c.BuildID, err = BuildOf(c.GuestPath); err != nil {
		t.Fatal(err)
	}
	w := acquire(t, newPool(t, c), "s")
	if r := start(t, w, js("cpu 1"), nil); r.Status != wire.StatusDone {
		t.Errorf("got %+v", r)
	}
}
