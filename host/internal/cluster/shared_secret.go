package cluster

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// minSecret is the least length of a shared secret, in bytes.
const minSecret = 32

// SharedSecret are credentials of all who have the secret: one key, which tells no one the
// secret. No authority signs its certificate, and no one looks at dates and names. The
// handshake proves that the other side has the key. Sessions are not resumed, so that each
// connection is decided about.
func SharedSecret(secret []byte) (*Credentials, error) {
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the shared secret has %d bytes: expected at least %d, such as the output of openssl rand -hex 32", len(secret), minSecret)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "quoin mutual TLS: cluster", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	own, err := certificateOf(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return nil, err
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*own}, SessionTicketsDisabled: true,
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, // VerifyConnection pins the key instead
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) != 1 || !bytes.Equal(s.PeerCertificates[0].RawSubjectPublicKeyInfo, own.Leaf.RawSubjectPublicKeyInfo) {
				return ErrCredentials
			}
			return nil
		},
	}
	return &Credentials{c, c}, nil
}

// certificateOf presents a key.
func certificateOf(key ed25519.PrivateKey) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "quoin"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(100, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}, nil
}
