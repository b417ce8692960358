package host_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
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
	wantWaiting(t, holder.Wait(t.Context(), me, id), codemode.ReasonYield)
	until(events, trajectory.RunSuspended)
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	wantWaiting(t, other.Wait(t.Context(), me, id), codemode.ReasonYield)
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

// relay passes connections on to another address, until they are cut.
type relay struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l}
	var copies sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // until either is cut
		to.Close()
	}
	copies.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			other, err := net.Dial("tcp", to)
			if err != nil {
				conn.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, conn, other)
			r.mu.Unlock()
			copies.Go(func() { pass(other, conn) })
			copies.Go(func() { pass(conn, other) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		r.cut()
		copies.Wait()
	})
	return r
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
}

// TestABrokenFeedSaysThatEventsAreMissing: what another host tells until it is asked again
// does not arrive.
func TestABrokenFeedSaysThatEventsAreMissing(t *testing.T) {
	t.Parallel()
	shared := newSharedRuns()
	teller := startPeer(t, shared.of("teller"))
	way := startRelay(t, shared.addressOf("teller"))
	shared.mu.Lock()
	shared.addresses["teller"] = way.Addr().String()
	shared.mu.Unlock()
	events := startPeer(t, shared.of("reader")).Follow(t.Context(), host.EventFilter{All: true})
	go exec(teller, `return 1`)
	<-events // it is told now
	way.cut()
	for e := range events {
		if e.Kind == trajectory.Gap {
			return
		}
	}
	t.Error("the feed has ended, and no event says that some are missing")
}
