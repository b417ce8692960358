package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// listed is a store that lists hosts as it is told to.
type listed struct {
	runstore.Shared
	peers []runstore.Peer
	err   error
}

func (l *listed) Host() string { return "a" }

func (l *listed) Peers(context.Context, int) ([]runstore.Peer, error) {
	return append([]runstore.Peer{{Host: "a", Address: "127.0.0.1:1"}}, l.peers...), l.err
}

// renew has the hosts live on.
func (l *listed) renew() {
	for i := range l.peers {
		l.peers[i].Until = l.peers[i].Until.Add(time.Second)
	}
}

// checking is what checks the hosts, and its log.
func checking(t *testing.T, c *Credentials, own string, hosts ...runstore.Peer) (*Checker, *listed, *bytes.Buffer) {
	store, log := &listed{peers: hosts}, new(bytes.Buffer)
	return NewChecker(peers(t, c), store, own, slog.New(slog.NewTextHandler(log, nil))), store, log
}

// round reports whether a host is suspected.
func round(t *testing.T, c *Checker) bool {
	t.Helper()
	suspected, err := c.round(t.Context(), maxGreetings)
	if err != nil {
		t.Fatal(err)
	}
	return suspected
}

// rounds has the hosts renew their leases while they are asked.
func rounds(t *testing.T, c *Checker, store *listed) {
	for range 3 {
		round(t, c)
		store.renew()
	}
}

// TestFaultsAreFound: what is wrong with a host that lives is logged once, and once when it
// is well again.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	right := secretOf(t, "s")
	well := serve(t, right, nil)
	authority := newAuthority(t)
	for name, c := range map[string]struct {
		asks    *Credentials
		peer    runstore.Peer
		want    FaultKind
		mention string
	}{
		"another secret":       {right, runstore.Peer{Host: "b", Address: serve(t, secretOf(t, "z"), nil)}, FaultCredentials, "cluster.secret"},
		"another authority":    {authority.issue(t), runstore.Peer{Host: "b", Address: serve(t, newAuthority(t).issue(t), nil)}, FaultCredentials, "certificates of one authority"},
		"it refuses our own":   {halfTrusted(authority.issue(t), newAuthority(t).issue(t)), runstore.Peer{Host: "b", Address: serve(t, authority.issue(t), nil)}, FaultCredentials, "certificates"},
		"no one listens":       {right, runstore.Peer{Host: "b", Address: closedAddress(t)}, FaultUnreachable, "loopback"},
		"another host answers": {right, runstore.Peer{Host: "c", Address: well}, FaultOtherHost, "cluster.advertise"},
	} {
		t.Run(name, func(t *testing.T) {
			checker, store, log := checking(t, c.asks, "", c.peer)
			rounds(t, checker, store)
			found := checker.Faults()
			if len(found) != 1 || found[0].Host != c.peer.Host || found[0].Kind != c.want {
				t.Fatalf("found %+v, want %s", found, c.want)
			}
			rounds(t, checker, store)
			if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, c.mention) || !strings.Contains(text, c.peer.Address) {
				t.Errorf("logged:\n%s", text)
			}
			checker.peers, store.peers = peers(t, right), []runstore.Peer{{Host: c.peer.Host, Address: serveHost(t, right, c.peer.Host, nil)}}
			if round(t, checker); len(checker.Faults()) != 0 || strings.Count(log.String(), "\n") != 2 {
				t.Errorf("it is well again: %+v\n%s", checker.Faults(), log)
			}
		})
	}
}

// halfTrusted presents a certificate of another authority.
func halfTrusted(c, other *Credentials) *Credentials {
	mixed := c.client.Clone()
	mixed.Certificates = other.client.Certificates
	return &Credentials{c.server, mixed}
}

func closedAddress(t *testing.T) string {
	l := listen(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// TestAHostThatIsGoneIsNoFault: it does not renew its lease, and the store forgets it.
func TestAHostThatIsGoneIsNoFault(t *testing.T) {
	t.Parallel()
	checker, store, log := checking(t, secretOf(t, "s"), "", runstore.Peer{Host: "b", Address: closedAddress(t)})
	for range 5 {
		if !round(t, checker) {
			t.Error("it is not suspected")
		}
	}
	store.peers = nil
	if round(t, checker) || len(checker.Faults()) != 0 || log.Len() > 0 {
		t.Errorf("a host that is gone: %+v\n%s", checker.Faults(), log)
	}
}

// TestAFaultGoesWithItsHost: nothing is left of a host that has ended.
func TestAFaultGoesWithItsHost(t *testing.T) {
	t.Parallel()
	checker, store, _ := checking(t, secretOf(t, "s"), "", runstore.Peer{Host: "b", Address: closedAddress(t)})
	if rounds(t, checker, store); len(checker.Faults()) != 1 {
		t.Fatal("no fault is found")
	}
	store.peers = nil
	if round(t, checker); len(checker.Faults()) != 0 {
		t.Errorf("left: %+v", checker.Faults())
	}
}

// TestLoopbackIsReachedFromNoOtherMachine: 192.0.2.1 is an address of no machine.
func TestLoopbackIsReachedFromNoOtherMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		own, peer string
		fault     bool
	}{
		{"127.0.0.1:8788", "192.0.2.1:8788", true},
		{"localhost:8788", "192.0.2.1:8788", true},
		{"[::1]:8788", "192.0.2.1:8788", true},
		{"127.0.0.1:8788", "127.0.0.1:8789", false},
		{"192.0.2.2:8788", "192.0.2.1:8788", false},
	} {
		checker, store, log := checking(t, secretOf(t, "s"), c.own)
		others := []runstore.Peer{{Host: "b", Address: c.peer}}
		checker.note(store.Host(), c.own, checker.ownFault(t.Context(), others))
		if found := checker.Faults(); (len(found) == 1 && found[0].Kind == FaultLoopback) != c.fault {
			t.Errorf("%s and %s: %+v", c.own, c.peer, found)
		}
		if c.fault && !strings.Contains(log.String(), "set cluster.advertise of this host") {
			t.Errorf("logged: %s", log)
		}
	}
}

// TestSettleSaysWhatItCouldNotAsk: a store that lists no hosts does not say that its hosts
// are well.
func TestSettleSaysWhatItCouldNotAsk(t *testing.T) {
	t.Parallel()
	c, store, _ := checking(t, secretOf(t, "s"), "127.0.0.1:1")
	store.err = errors.New("permission denied")
	if err := c.Settle(t.Context()); !errors.Is(err, store.err) {
		t.Errorf("got %v, want %v", err, store.err)
	}
}
