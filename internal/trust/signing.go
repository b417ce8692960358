package trust

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
)

// PublicKey is an ed25519 key that vouches for plugins. It can be compared and be the key
// of a map. The zero value is no key: it stands for an unsigned plugin.
type PublicKey [ed25519.PublicKeySize]byte

// keyPrefix starts every key in text.
const keyPrefix = "ed25519:"

// String returns the key as "ed25519:" and base64.
func (k PublicKey) String() string { return keyPrefix + base64.StdEncoding.EncodeToString(k[:]) }

// ParsePublicKey reads what String returns.
func ParsePublicKey(text string) (PublicKey, error) {
	encoded, ok := strings.CutPrefix(text, keyPrefix)
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(raw) != ed25519.PublicKeySize || PublicKey(raw).String() != text {
		return PublicKey{}, fmt.Errorf(`%.80q is not a public key; expected "ed25519:" and 44 characters of base64, as quoin plugin keys show prints`, text)
	}
	if PublicKey(raw) == (PublicKey{}) {
		return PublicKey{}, fmt.Errorf("%s is no key", text)
	}
	return PublicKey(raw), nil
}

// PrivateKey signs plugins. Keep it where plugins are packed; hosts need the public key
// alone. Do not print it. The zero value cannot sign.
type PrivateKey struct{ key ed25519.PrivateKey }

// NewPrivateKey makes a key from the system's source of random bytes.
func NewPrivateKey() (PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return PrivateKey{key}, err
}

// Public returns the key that checks what k signs.
func (k PrivateKey) Public() PublicKey { return PublicKey(k.key.Public().(ed25519.PublicKey)) }

// pemType is the kind of block a private key stands in; other tools read it too.
const pemType = "PRIVATE KEY"

// WriteFile writes the key to a new file that only its owner can read: PKCS #8 in PEM,
// without a passphrase. It never replaces a file: the error is fs.ErrExist if the name is
// taken. The key is on disk when WriteFile returns.
func (k PrivateKey) WriteFile(name string) (err error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.key)
	if err != nil {
		return err
	}
	return durable.Create(name, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), durable.Options{})
}

// maxKeyBytes bounds a key file.
const maxKeyBytes = 16 << 10

// ReadPrivateKey reads a key that WriteFile has written. It refuses a file that other users
// can use, and one that belongs to another user than the one of this process or root.
func ReadPrivateKey(name string) (PrivateKey, error) {
	text, err := durable.ReadPrivate(name, maxKeyBytes)
	var open *durable.NotPrivateError
	switch {
	case errors.As(err, &open):
		return PrivateKey{}, fmt.Errorf("the private key %w", err)
	case errors.Is(err, durable.ErrNotRegular), errors.Is(err, durable.ErrTooLarge):
		return PrivateKey{}, fmt.Errorf("%s is not a private key; make one with: quoin plugin keys new FILE", name)
	case err != nil:
		return PrivateKey{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return PrivateKey{}, fmt.Errorf("%s is not a private key in PEM; make one with: quoin plugin keys new FILE", name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("the private key %s: %w", name, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return PrivateKey{}, fmt.Errorf("the private key %s is a %T; expected an ed25519 key, as quoin plugin keys new makes", name, parsed)
	}
	return PrivateKey{key}, nil
}

// The words of a signature file.
const (
	signatureHeader = "quoin plugin signature 1"
	// signedAs keeps a signature of a list from standing for anything else.
	signedAs = "quoin plugin contents 1\n"
	// maxSignatureBytes bounds a signature file.
	maxSignatureBytes = 1 << 10
)

// Signature vouches for a list of contents. A signature proves who has packed a plugin,
// not that the plugin is harmless or the newest.
type Signature struct {
	Key   PublicKey
	Value [ed25519.SignatureSize]byte
}

// Sign signs the text of a list of contents, as [Contents.Text] writes it.
func (k PrivateKey) Sign(sums []byte) Signature {
	s := Signature{Key: k.Public()}
	copy(s.Value[:], ed25519.Sign(k.key, append([]byte(signedAs), sums...)))
	return s
}

// Verify reports whether the signature is of that text, by its key. Whether the
// key is to be trusted is another question.
func (s Signature) Verify(sums []byte) bool {
	return ed25519.Verify(s.Key[:], append([]byte(signedAs), sums...), s.Value[:])
}

// Text writes the signature as plugin.sig has it.
func (s Signature) Text() []byte {
	return []byte(signatureHeader + "\n" + s.Key.String() + "\n" + base64.StdEncoding.EncodeToString(s.Value[:]) + "\n")
}

// parseSignature reads what Text has written, and nothing else.
func parseSignature(text []byte) (Signature, error) {
	wrong := fmt.Errorf("%s is not a signature; pack the plugin again", SignatureName)
	if len(text) > maxSignatureBytes {
		return Signature{}, wrong
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 4 || lines[0] != signatureHeader {
		return Signature{}, wrong
	}
	key, err := ParsePublicKey(lines[1])
	if err != nil {
		return Signature{}, fmt.Errorf("%s: %w", SignatureName, err)
	}
	s := Signature{Key: key}
	raw, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(raw) != len(s.Value) {
		return Signature{}, wrong
	}
	copy(s.Value[:], raw)
	if string(s.Text()) != string(text) {
		return Signature{}, wrong
	}
	return s, nil
}
