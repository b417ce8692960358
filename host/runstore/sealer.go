package runstore

import (
	"crypto/cipher"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

// Sealer writes and reads the files of another store of the same installation.
// They are sealed with a key made of the directory's own, so that a user who cannot
// forge a run cannot forge them either. It is safe for concurrent use.
type Sealer struct{ key []byte }

// maxSealed bounds the files a Sealer reads, in bytes.
const maxSealed = 4 << 20

// Sealer returns the sealer for one purpose. Files of different purposes cannot
// be passed off as each other.
func (d *Dir) Sealer(purpose string) *Sealer { return d.Key().Sealer(purpose) }

// Create writes a new file of mode 0600, complete or not at all, and on disk when
// it returns. If the name is taken the error is fs.ErrExist and nothing changes:
// of several that create one name, exactly one succeeds.
func (s *Sealer) Create(path string, content []byte) error {
	b, err := s.seal(path, content)
	if err != nil {
		return err
	}
	return durable.Create(path, b, durable.Options{})
}

// Replace is Create for a name that may be taken.
func (s *Sealer) Replace(path string, content []byte) error {
	b, err := s.seal(path, content)
	if err != nil {
		return err
	}
	return durable.Replace(path, b, durable.Options{})
}

// ReplaceLazily is Replace without waiting for the disk, for what may be lost with the
// machine. The modification time of the file is when it expires.
func (s *Sealer) ReplaceLazily(path string, content []byte, expires time.Time) error {
	b, err := s.seal(path, content)
	if err != nil {
		return err
	}
	return durable.Replace(path, b, durable.Options{Lazy: true, ModTime: expires})
}

// seal returns the file, which is bound to its name.
func (s *Sealer) seal(path string, content []byte) ([]byte, error) {
	if len(content) > maxSealed-4<<10 {
		return nil, fmt.Errorf("%s would have %d bytes, at most %d fit", path, len(content), maxSealed-4<<10)
	}
	return seal(s.key, kindOther, []byte(filepath.Base(path)), content), nil
}

// Read returns the content of a file, which must have been written under its
// present name. The error is ErrCorrupt if it does not verify, and of package fs
// if it is not there.
func (s *Sealer) Read(path string) ([]byte, error) {
	b, err := readRegular(path, maxSealed)
	if err != nil {
		return nil, err
	}
	name, content, err := unseal(s.key, kindOther, b)
	if err == nil && string(name) != filepath.Base(path) {
		err = fmt.Errorf("%w: %s was written under another name", ErrCorrupt, path)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// Names lists the files of a directory that have the extension, without it.
func Names(dir, ext string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ext); ok {
			out = append(out, name)
		}
	}
	return out, nil
}

// Cipher returns AES-256-GCM with a key of one purpose, made of the directory's own, for
// files with secrets. Seal it with a nil nonce: it draws one and puts it in front.
func (d *Dir) Cipher(purpose string) (cipher.AEAD, error) { return d.Key().Cipher(purpose) }

// Key returns the key of the directory.
func (d *Dir) Key() *Key { return &Key{d.key} }
