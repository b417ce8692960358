package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

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
}

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

// clusterGrace is how long Close waits for the answers to other hosts, once their runs have
// been suspended.
const clusterGrace = 2 * time.Second

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
	h.credentials, h.peers = credentials, cluster.NewPeers(credentials)
	h.engine.Peers = h.peers
	return nil
}

// answerCluster lets other hosts ask this one, which is ready.
func (h *Host) answerCluster(ctx context.Context) error {
	c := &h.cfg.Cluster
	if c.Listen == "" {
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
	h.clusterServer = cluster.Serve(l, h.credentials, shared.Host(), h.engine.AnswerPeer, h.log)
	if err := shared.Advertise(ctx, address); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	h.log.Info("other hosts of the store can ask this one", "host", shared.Host(), "address", address)
	return nil
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
	if h.peers != nil {
		h.peers.Close()
	}
	if h.clusterServer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterGrace)
	defer cancel()
	return h.clusterServer.Close(ctx)
}
