package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/runstore"
)

// joinCluster prepares to ask other hosts, before any run.
func (h *Host) joinCluster() error {
	c := &h.cfg.Cluster
	if !c.enabled() {
		return nil
	}
	if _, ok := h.cfg.Store.(runstore.Shared); !ok {
		return errors.New("cluster: there are no other hosts without a Store that several share: give the database (state.url)")
	}
	credentials, err := c.credentials()
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	h.credentials, h.peers = credentials, cluster.NewPeers(credentials, c.peerTimes())
	h.engine.Peers = h.peers
	return nil
}

// checkCluster starts to look for faults of the cluster, as the host that advertises that
// address, which may be empty.
func (h *Host) checkCluster(own string) {
	if h.peers == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := cluster.NewChecker(h.peers, h.cfg.Store.(runstore.Shared), own, h.log)
	h.checker.Store(c)
	h.endChecks = cancel
	h.checks.Go(func() { c.Run(ctx) })
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

// ClusterFaults returns what this host has last found wrong with its cluster: it asks the
// other hosts now and then. It is empty without a cluster.
func (h *Host) ClusterFaults() []ClusterFault {
	c := h.checker.Load()
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

// clusterMetrics counts the faults of each kind. Ok is false without a cluster.
func (h *Host) clusterMetrics() (faults map[string]int, ok bool) {
	c := h.checker.Load()
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

// leaveCluster stops to answer other hosts. Their runs have been suspended.
func (h *Host) leaveCluster() error {
	if h.endChecks != nil {
		h.endChecks()
		h.checks.Wait()
	}
	if h.peers != nil {
		h.peers.Close()
	}
	if h.clusterServer == nil {
		return nil
	}
	h.endFeeds()
	ctx, cancel := context.WithTimeout(context.Background(), h.cfg.times.Own.ClusterGrace)
	defer cancel()
	return h.clusterServer.Close(ctx)
}
