package node

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// identity is the key of a gateway or a node, with a certificate to present it.
type identity struct {
	certificate tls.Certificate
	fingerprint Fingerprint
}

// Fingerprint is the SHA-256 of a public key.
type Fingerprint [sha256.Size]byte

// String is the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// parseFingerprint reads what String writes.
func parseFingerprint(s string) (f Fingerprint, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(f) {
		return f, fmt.Errorf("a fingerprint has %d hexadecimal digits", 2*len(f))
	}
	copy(f[:], raw)
	return f, nil
}

// fingerprintOf is that of the key in a certificate.
func fingerprintOf(c *x509.Certificate) Fingerprint { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// newIdentity makes a key, as the PEM text that parseIdentity reads.
func newIdentity() ([]byte, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	// No one looks at the dates: the key counts.
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "quoin"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(100, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...), nil
}

// parseIdentity reads a certificate and its key, one after the other.
func parseIdentity(text []byte) (*identity, error) {
	c, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	return &identity{certificate: c, fingerprint: fingerprintOf(c.Leaf)}, nil
}

// errStranger refuses a connection: the other side has another key.
var errStranger = errors.New("the other side has a key that is not enrolled")

// tlsConfig presents the identity and lets accept decide about the key of the other
// side. Sessions are not resumed, so that each connection is decided about.
func (id *identity) tlsConfig(accept func(Fingerprint) error) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{id.certificate},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		// No authority signs these certificates: VerifyConnection pins the key instead,
		// and the handshake proves that the other side has it.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) != 1 {
				return errStranger
			}
			return accept(fingerprintOf(s.PeerCertificates[0]))
		},
	}
}
