package host_test

import (
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/trajectory"
)

// TestAnyHostShowsEvents follows a run at a host that does not drive it, and on when the
// run goes to another host.
func TestAnyHostShowsEvents(t *testing.T) {
	t.Parallel()
	shared, g, holder, other := startPeers(t)
	third := startPeer(t, shared.of("third"), g.tool("slow"))
	id := suspendedAt(t, holder, `await tools.slow(); await yield_control(); await yield_control(); return "through"`)
	<-g.entered
	events := third.Follow(t.Context(), host.EventFilter{Session: me, Run: id})
	strange := third.Follow(t.Context(), host.EventFilter{Session: host.Session{SessionID: "stranger"}})
	everything := third.Follow(t.Context(), host.EventFilter{All: true})
	until := func(feed <-chan trajectory.Event, kind trajectory.Kind) {
		t.Helper()
		for e := range feed {
			if e.RunID != id {
				t.Errorf("an event of another run: %+v", e)
			}
			if e.Kind == kind {
				return
			}
		}
		t.Fatalf("the feed has ended without %s", kind)
	}
	close(g.open)
	wantWaiting(t, holder.Wait(t.Context(), me, id), host.ReasonYield)
	until(events, trajectory.RunSuspended)
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	wantWaiting(t, other.Wait(t.Context(), me, id), host.ReasonYield)
	until(events, trajectory.RunSuspended)
	wantValue(t, other.Wait(t.Context(), me, id), `"through"`)
	until(events, trajectory.RunEnded)
	until(everything, trajectory.RunEnded)
	select {
	case e := <-strange:
		t.Errorf("a stranger is told %+v", e)
	default:
	}
}
