package host

import (
	"cmp"
	"errors"
	"fmt"
	"net"

	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/plugins"
)

// ClusterConfig says how the hosts of one Store ask each other, so that a caller may wait
// for a run, abort it and answer its calls at any of them. It counts for a Store that is a
// runstore.Shared. The zero value asks no host and answers no host: a run that another host
// holds is busy until that host releases it, or its lease is over.
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
	// authority that has signed the certificates of all hosts, as PEM. They take the place of
	// Secret. The certificate is good for servers and clients, and names the host of
	// Advertise.
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
