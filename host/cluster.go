package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/runstore"
)

// member is a host as one of its cluster.
type member struct {
	cfg *Config
	log *slog.Logger

	credentials *cluster.Credentials // nil: no cluster
	peers       *cluster.Peers
	server      *cluster.Server
	checker     atomic.Pointer[cluster.Checker] // nil: no cluster
	checks      sync.WaitGroup
	followable  peerList // their events are followed
	endChecks   context.CancelFunc
	feeds       context.Context // of events that other hosts are told
	endFeeds    context.CancelFunc
}

// join prepares to ask other hosts, before any run.
func (m *member) join() error {
	c := &m.cfg.Cluster
	if !c.enabled() {
		return nil
	}
	if _, ok := m.cfg.Store.(runstore.Shared); !ok {
		return errors.New("cluster: there are no other hosts without a Store that several share: give the database (state.url)")
	}
	credentials, err := c.credentials()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	m.credentials, m.peers = credentials, cluster.NewPeers(credentials, c.peerTimes())
	return nil
}

// check starts to look for faults of the cluster, as the host that advertises that
// address, which may be empty.
func (m *member) check(own string) {
	if m.peers == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := cluster.NewChecker(m.peers, m.cfg.Store.(runstore.Shared), own, m.log)
	m.checker.Store(c)
	m.endChecks = cancel
	m.checks.Go(func() { c.Run(ctx) })
}

// answer lets other hosts ask this one, which is ready, by a function that answers them.
func (m *member) answer(ctx context.Context, peer cluster.Handler) error {
	c := &m.cfg.Cluster
	if c.Listen == "" {
		m.check("")
		return nil
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	address := cmp.Or(c.Advertise, l.Addr().String())
	if err := checkAdvertised(address); err != nil {
		return errors.Join(err, l.Close())
	}
	shared := m.cfg.Store.(runstore.Shared)
	m.feeds, m.endFeeds = context.WithCancel(context.Background())
	m.server = cluster.Serve(l, m.credentials, shared.Host(), peer, m.log, c.peerTimes())
	if err := shared.Advertise(ctx, address); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	m.log.Info("other hosts of the store can ask this one", "host", shared.Host(), "address", address)
	m.check(address)
	return nil
}

// ClusterFault is what keeps the hosts of a cluster from asking each other.
type ClusterFault struct {
	// Host is the id of the host that cannot be asked, which lives, and Address what it advertises.
	Host    string `json:"host"`
	Address string `json:"address"`
	// Kind is credentials, unreachable, other_host or loopback.
	Kind string `json:"kind"`
	// Problem says what is wrong, and Advice what to do about it.
	Problem string `json:"problem"`
	Advice  string `json:"advice"`
}

// faults returns what this host has last found wrong with its cluster: it asks the other hosts
// now and then.
func (m *member) faults() []ClusterFault {
	c := m.checker.Load()
	if c == nil {
		return nil
	}
	return faultsOf(c)
}

func faultsOf(c *cluster.Checker) []ClusterFault {
	out := []ClusterFault{}
	for _, f := range c.Faults() {
		out = append(out, ClusterFault{f.Host, f.Address, string(f.Kind), f.Problem(), f.Advice()})
	}
	return out
}

// CheckCluster asks the hosts of a store once, with what the configuration gives, and returns
// what is wrong with them. A host that does not answer is watched until it has renewed its
// lease or is gone, so that this takes seconds, or until ctx ends. With an error, what was
// found until then is returned, too. Without a cluster in the
// configuration there is nothing to ask with, and nothing is wrong.
func CheckCluster(ctx context.Context, c ClusterConfig, store runstore.Shared) ([]ClusterFault, error) {
	if !c.enabled() {
		return nil, nil
	}
	credentials, err := c.credentials()
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	p := cluster.NewPeers(credentials, c.peerTimes())
	defer p.Close()
	checker := cluster.NewChecker(p, store, cmp.Or(c.Advertise, c.Listen), slog.New(slog.DiscardHandler))
	if err = checker.Settle(ctx); err != nil {
		err = fmt.Errorf("cluster: %w", err)
	}
	return faultsOf(checker), err
}

// metrics counts the faults of each kind. Ok is false without a cluster.
func (m *member) metrics() (faults map[string]int, ok bool) {
	c := m.checker.Load()
	if c == nil {
		return nil, false
	}
	faults = map[string]int{}
	for _, kind := range cluster.FaultKinds() {
		faults[string(kind)] = 0
	}
	for _, f := range c.Faults() {
		faults[string(f.Kind)]++
	}
	return faults, true
}

// leave stops to answer other hosts. Their runs have been suspended.
func (m *member) leave() error {
	if m.endChecks != nil {
		m.endChecks()
		m.checks.Wait()
	}
	if m.peers != nil {
		m.peers.Close()
	}
	if m.server == nil {
		return nil
	}
	m.endFeeds()
	ctx, cancel := context.WithTimeout(context.Background(), m.cfg.times.Own.ClusterGrace)
	defer cancel()
	return m.server.Close(ctx)
}
