package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins"
)

// ClusterConfig says how the hosts of one Store ask each other, so that a caller may wait
// for a run, abort it and answer its calls at any of them. It counts for a Store that is a
// runstore.Shared. The zero value asks no host and answers no host: a run that
// another host holds is busy until that host lets go of it, or its lease is over.
type ClusterConfig struct {
	// Listen is the address at which this host answers others, HOST:PORT; port 0 takes a
	// free one. Empty means that it answers no host, and asks others all the same.
	Listen string
	// Advertise is the address at which others reach this host, HOST:PORT. Defaults to the
	// address that it listens to; required if that names no host.
	Advertise string
	// Secret is what all hosts of the cluster share, and no one else: 32 bytes or more. It
	// is read when the host starts.
	Secret plugins.SecretSource
	// CertFile and KeyFile are the certificate of this host and its key, and CAFile the
	// authority that has signed those of all hosts, as PEM. They take the place of Secret.
	// The certificate is good for servers and clients, and names the host of Advertise.
	CertFile, KeyFile, CAFile string

	times cluster.Times // the zero value: cluster.DefaultTimes
}

func (c *ClusterConfig) peerTimes() cluster.Times { return cmp.Or(c.times, cluster.DefaultTimes) }

// enabled reports whether hosts can ask each other.
func (c *ClusterConfig) enabled() bool {
	return c.Listen != "" || c.Advertise != "" || c.Secret != nil || c.CertFile+c.KeyFile+c.CAFile != ""
}

func (c *ClusterConfig) credentials() (*cluster.Credentials, error) {
	files := c.CertFile != "" || c.KeyFile != "" || c.CAFile != ""
	switch {
	case files && c.Secret != nil:
		return nil, errors.New("both a secret and certificates are given: give one of them")
	case files && (c.CertFile == "" || c.KeyFile == "" || c.CAFile == ""):
		return nil, errors.New("a certificate, its key and the authority are needed, all three")
	case files:
		return cluster.Certificates(c.CertFile, c.KeyFile, c.CAFile)
	case c.Secret == nil:
		return nil, errors.New("a secret or certificates are needed: hosts answer only those who prove that they belong to the cluster")
	}
	secret, err := c.Secret()
	if err != nil {
		return nil, fmt.Errorf("the shared secret: %w", err)
	}
	return cluster.SharedSecret([]byte(secret))
}

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

// answerCluster lets other hosts ask this one, which is ready.
func (h *Host) answerCluster(ctx context.Context) error {
	c := &h.cfg.Cluster
	if c.Listen == "" {
		h.checkCluster("")
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
	shared := h.cfg.Store.(runstore.Shared)
	h.feeds, h.endFeeds = context.WithCancel(context.Background())
	h.clusterServer = cluster.Serve(l, h.credentials, shared.Host(), h.answerPeer, h.log, c.peerTimes())
	if err := shared.Advertise(ctx, address); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	h.log.Info("other hosts of the store can ask this one", "host", shared.Host(), "address", address)
	h.checkCluster(address)
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

// checkAdvertised refuses an address at which no other host can reach this one.
func checkAdvertised(address string) error {
	if err := cluster.CheckAddress(address); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	name, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(name); err == nil && ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("cluster: no other host reaches this one at %s: give the address to advertise (cluster.advertise)", address)
	}
	return err
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
