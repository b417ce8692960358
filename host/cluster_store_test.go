package host_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/runstore"
)

// sharedRuns is what several hosts of this process store. Each has a view of its own.
type sharedRuns struct {
	memory runstore.Memory

	mu        sync.Mutex
	addresses map[string]string     // of hosts
	claims    map[string]*runOfHost // by run
	renewals  int64                 // of leases
}

func newSharedRuns() *sharedRuns {
	return &sharedRuns{addresses: map[string]string{}, claims: map[string]*runOfHost{}}
}

// hostView is the store as one host sees it.
type hostView struct {
	runstore.Store // outlives its hosts, which Memory does not say
	shared         *sharedRuns
	host           string
}

func (s *sharedRuns) of(host string) *hostView { return &hostView{&s.memory, s, host} }

// runOfHost is the claim of a host.
type runOfHost struct {
	runstore.Claim
	view *hostView
	run  string
}

func (v *hostView) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	c, err := v.Store.Create(ctx, r, max)
	return v.hold(r.ID, c, err)
}

func (v *hostView) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := v.Store.Claim(ctx, id)
	return v.hold(id, c, err)
}

func (v *hostView) hold(id string, c runstore.Claim, err error) (runstore.Claim, error) {
	if err != nil {
		return nil, err
	}
	own := &runOfHost{c, v, id}
	v.shared.mu.Lock()
	defer v.shared.mu.Unlock()
	v.shared.claims[id] = own
	return own, nil
}

func (c *runOfHost) Release() {
	c.view.shared.mu.Lock()
	if c.view.shared.claims[c.run] == c {
		delete(c.view.shared.claims, c.run)
	}
	c.view.shared.mu.Unlock()
	c.Claim.Release()
}

func (v *hostView) Host() string { return v.host }

func (v *hostView) Advertise(_ context.Context, address string) error {
	v.shared.mu.Lock()
	defer v.shared.mu.Unlock()
	v.shared.addresses[v.host] = address
	return nil
}

func (v *hostView) Owner(_ context.Context, id string) (runstore.Owner, error) {
	v.shared.mu.Lock()
	defer v.shared.mu.Unlock()
	c := v.shared.claims[id]
	if c == nil {
		return runstore.Owner{}, runstore.ErrNotFound
	}
	return runstore.Owner{Host: c.view.host, Address: v.shared.addresses[c.view.host], Epoch: c.Epoch()}, nil
}

// endLease lets other hosts take the runs of host. That host keeps running and does not know.
func (s *sharedRuns) endLease(host string) {
	s.mu.Lock()
	var held []*runOfHost
	for id, c := range s.claims {
		if c.view.host == host {
			held = append(held, c)
			delete(s.claims, id)
		}
	}
	s.mu.Unlock()
	for _, c := range held {
		c.Claim.Release()
	}
}

// advertise says that a host is at another address.
func (s *sharedRuns) advertise(host, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses[host] = address
}

// clusterSecret is what the hosts of tests share.
func clusterSecret() (string, error) { return "a secret of thirty-two bytes, it is", nil }

// startPeer starts a host of a cluster.
func startPeer(t *testing.T, store runstore.Store, tools ...catalog.Tool) *host.Host {
	t.Helper()
	return start(t, host.Config{Store: store, Tools: tools, Cluster: host.ClusterConfig{Listen: "127.0.0.1:0", Secret: clusterSecret}})
}

func (s *sharedRuns) addressOf(host string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addresses[host]
}

// startPeers starts two hosts of a cluster. Their tool slow waits for one gate. A program is
// to run on holder, and its caller asks other.
func startPeers(t *testing.T) (shared *sharedRuns, g *gate, holder, other *host.Host) {
	t.Helper()
	shared, g = newSharedRuns(), newGate()
	return shared, g, startPeer(t, shared.of("holder"), g.tool("slow")), startPeer(t, shared.of("other"), g.tool("slow"))
}

// Peers lists all hosts as living ones.
func (v *hostView) Peers(context.Context, int) ([]runstore.Peer, error) {
	v.shared.mu.Lock()
	defer v.shared.mu.Unlock()
	var out []runstore.Peer
	for host, address := range v.shared.addresses {
		v.shared.renewals++
		out = append(out, runstore.Peer{Host: host, Address: address, Until: time.Unix(v.shared.renewals, 0)})
	}
	return out, nil
}
