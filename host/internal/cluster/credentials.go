package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/quoinhq/quoin/internal/durable"
)

// Credentials prove to the other side that this host belongs to the cluster, and check that
// the other side does.
type Credentials struct{ server, client *tls.Config }

// maxPEM bounds a file with a key or certificates.
const maxPEM = 1 << 20

// Certificates returns credentials made of a certificate with its key, both PEM files, and
// of the authority that has signed the certificates of all hosts. A certificate names the
// host part of the address that its host advertises, and is good for servers and clients.
func Certificates(certFile, keyFile, caFile string) (*Credentials, error) {
	key, err := durable.ReadPrivate(keyFile, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("the key of this host: %w", err)
	}
	certificate, err := durable.ReadFile(certFile, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("the certificate of this host: %w", err)
	}
	own, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate of this host: %w", err)
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("the authority of the cluster: %w", err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the authority of the cluster: %s has no certificate: expected PEM", caFile)
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, SessionTicketsDisabled: true,
		RootCAs: authority, ClientCAs: authority, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	return &Credentials{c, c}, nil
}

// namesCredentials has an error of a connection say that the credentials do not match.
func namesCredentials(err error) error {
	var certificate *tls.CertificateVerificationError
	var op *net.OpError
	refused := errors.As(err, &certificate) || errors.As(err, &op) && op.Op == "remote error" // an alert of TLS
	if refused && !errors.Is(err, ErrCredentials) {
		return fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	return err
}
