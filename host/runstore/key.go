package runstore

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/quoinhq/quoin/internal/durable"
)

// Key seals what a store keeps. Hosts that share a store have the same one, and the
// store itself does not: who can write to it and has no key can forge nothing. It is safe
// for concurrent use.
type Key struct{ secret []byte }

// NewKey returns the key with a secret of 32 bytes.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != keyBytes {
		return nil, fmt.Errorf("a key has %d bytes, this one has %d", keyBytes, len(secret))
	}
	return &Key{append([]byte(nil), secret...)}, nil
}

// OpenKey reads the key in a file that its owner alone may read. The error is
// fs.ErrNotExist without one.
func OpenKey(path string) (*Key, error) {
	secret, err := readKey(path)
	if err != nil {
		return nil, err
	}
	return &Key{secret}, nil
}

// CreateKey is OpenKey, and makes a key of mode 0600 if there is no file. Two processes
// that start at the same time agree on one.
func CreateKey(path string) (*Key, error) {
	secret, err := loadKey(path)
	if err != nil {
		return nil, err
	}
	return &Key{secret}, nil
}

// Sum is the HMAC-SHA256 of parts, with a key of one purpose. A caller with parts that vary in
// length writes the lengths, too.
func (k *Key) Sum(purpose string, parts ...[]byte) []byte {
	return sum(sum(k.secret, []byte("quoin driver: "+purpose)), parts...)
}

// StoreIdentity returns the identity of a store with contents that the key seals. Stores with
// one key are told apart by their ids, which their authors draw at random and keep with them.
func (k *Key) StoreIdentity(id string) string {
	return hex.EncodeToString(k.Sum("store identity", []byte(id))[:16])
}

// Sealer returns the sealer for one purpose. What is sealed for different purposes cannot
// be passed off as each other.
func (k *Key) Sealer(purpose string) *Sealer {
	return &Sealer{key: sum(k.secret, []byte("quoin sealer: "+purpose))}
}

// Cipher returns AES-256-GCM with a key of one purpose, for what is secret. Seal it with a
// nil nonce: it draws one and puts it in front.
func (k *Key) Cipher(purpose string) (cipher.AEAD, error) {
	block, err := aes.NewCipher(sum(k.secret, []byte("quoin cipher: "+purpose)))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// loadKey returns the key in path and makes one of mode 0600 if it does not exist. Two
// processes that start at the same time agree on one key: the one that comes second
// reads the key of the first.
func loadKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh := make([]byte, keyBytes)
	if _, err := io.ReadFull(rand.Reader, fresh); err != nil {
		return nil, err
	}
	if err := ignore(durable.Create(path, fresh, durable.Options{}), fs.ErrExist); err != nil {
		return nil, fmt.Errorf("key file of the run store: %w", err)
	}
	return readKey(path)
}

// keyBytes is the length of a key.
const keyBytes = 32

// readKey refuses a key that others can read, or that another user put there: the
// key is enough to forge a guest image.
func readKey(path string) ([]byte, error) {
	key, err := durable.ReadPrivate(path, maxHeader)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if len(key) != keyBytes {
		return nil, fmt.Errorf("key file %s holds %d bytes, expected %d: remove it to start with a new key (runs suspended under the old one are lost)", path, len(key), keyBytes)
	}
	return key, nil
}
