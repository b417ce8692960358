package mutualtls

import (
	"crypto/ed25519"
	"crypto/hkdf"
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

// Identity is a key, with a certificate to present it. It is immutable.
type Identity struct {
	certificate tls.Certificate
	fingerprint Fingerprint
}

// Fingerprint is that of the key.
func (id *Identity) Fingerprint() Fingerprint { return id.fingerprint }

// Fingerprint is the SHA-256 of a public key.
type Fingerprint [sha256.Size]byte

// String is the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// ParseFingerprint reads what String writes.
func ParseFingerprint(s string) (f Fingerprint, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(f) {
		return f, fmt.Errorf("a fingerprint has %d hexadecimal digits", 2*len(f))
	}
	copy(f[:], raw)
	return f, nil
}

// FingerprintOf is that of the key in a certificate.
func FingerprintOf(c *x509.Certificate) Fingerprint { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// New makes a key, as the PEM text that Parse reads.
func New() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return encode(private)
}

// MinSecret is the least length of a shared secret, in bytes.
const MinSecret = 32

// FromSecret returns the identity of all processes that share a secret for one purpose.
// An identity tells no one the secret.
func FromSecret(secret []byte, purpose string) (*Identity, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the shared secret has %d bytes: expected at least %d, such as the output of openssl rand -hex 32", len(secret), MinSecret)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "quoin mutual TLS: "+purpose, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	text, err := encode(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// encode writes a key and a certificate for it.
func encode(private ed25519.PrivateKey) ([]byte, error) {
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
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
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

// Parse reads a certificate and its key, one after the other.
func Parse(text []byte) (*Identity, error) {
	c, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %w", err)
	}
	return &Identity{certificate: c, fingerprint: FingerprintOf(c.Leaf)}, nil
}

// ErrStranger refuses a connection: the other side has another key.
var ErrStranger = errors.New("the other side has a key that is not enrolled")

// TLS is a configuration of either side. It presents the identity and lets accept decide about the key of the other
// side. Sessions are not resumed, so that each connection is decided about.
func (id *Identity) TLS(accept func(Fingerprint) error) *tls.Config {
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
				return ErrStranger
			}
			return accept(FingerprintOf(s.PeerCertificates[0]))
		},
	}
}
