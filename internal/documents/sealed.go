package documents

import (
	"context"
	"crypto/cipher"
	"fmt"
	"time"
)

// Sealer binds the contents of documents to their names and to an installation, and
// encrypts them if they have to be secret. It is safe for concurrent use.
type Sealer interface {
	// Seal returns what a driver is to keep.
	Seal(name string, content []byte) []byte
	// Open returns the content of what a driver has kept under a name.
	Open(name string, sealed []byte) ([]byte, error)
}

// Encrypted returns the sealer that encrypts with a cipher, which draws its own nonces.
func Encrypted(c cipher.AEAD) Sealer { return encrypted{c} }

type encrypted struct{ c cipher.AEAD }

// Seal implements Sealer.
func (e encrypted) Seal(name string, content []byte) []byte {
	return e.c.Seal(nil, nil, content, []byte(name))
}

// Open implements Sealer.
func (e encrypted) Open(name string, sealed []byte) ([]byte, error) {
	return e.c.Open(nil, nil, sealed, []byte(name))
}

// sealed is a driver with a sealer around it.
type sealed struct {
	Store
	seal Sealer
}

// Sealed returns a store with sealed contents. What does not verify is [ErrCorrupt].
func Sealed(s Store, seal Sealer) Store { return sealed{s, seal} }

// Create implements Store.
func (s sealed) Create(ctx context.Context, name string, content []byte, expires time.Time) error {
	return s.Store.Create(ctx, name, s.seal.Seal(name, content), expires)
}

// Replace implements Store.
func (s sealed) Replace(ctx context.Context, name string, content []byte, expires time.Time) error {
	return s.Store.Replace(ctx, name, s.seal.Seal(name, content), expires)
}

// Read implements Store.
func (s sealed) Read(ctx context.Context, name string) ([]byte, error) {
	b, err := s.Store.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.open(name, b)
}

func (s sealed) open(name string, b []byte) ([]byte, error) {
	content, err := s.seal.Open(name, b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, s.Location(name), err)
	}
	return content, nil
}

// All implements Store.
func (s sealed) All(ctx context.Context, ext string) ([]Document, error) {
	list, err := s.Store.All(ctx, ext)
	for i := range list {
		if d := &list[i]; d.Err == nil {
			d.Content, d.Err = s.open(d.Name, d.Content)
		}
	}
	return list, err
}

// Earlier implements Clock.
func (s sealed) Earlier(ctx context.Context, here time.Time) (time.Time, error) {
	if c, ok := s.Store.(Clock); ok {
		return c.Earlier(ctx, here)
	}
	return here, nil
}
