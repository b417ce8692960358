package oauth

import (
	"context"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

// The kinds of files, by their extension.
const (
	grantExt  = ".grant"
	flowExt   = ".flow"
	clientExt = ".client"
	lockExt   = ".lock"
)

// maxFile bounds a file, in bytes.
const maxFile = 256 << 10

// store keeps encrypted files. What is in one counts only under the name that it was
// written for.
type store struct {
	dir  string
	aead cipher.AEAD
}

// openStore opens a directory that only its owner can use.
func openStore(dir string, aead cipher.AEAD) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of sign-ins: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { // fails if it belongs to someone else
		return nil, fmt.Errorf("directory of sign-ins: %w", err)
	}
	return &store{dir: dir, aead: aead}, nil
}

// read decodes a file into v. The error is fs.ErrNotExist if it is not there.
func (s *store) read(name string, v any) error {
	sealed, err := durable.ReadPrivate(filepath.Join(s.dir, name), maxFile)
	if err != nil {
		return err
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(name))
	if err != nil {
		return fmt.Errorf("%s was not written by this host: remove it, and sign in again", filepath.Join(s.dir, name))
	}
	return json.Unmarshal(plain, v)
}

// write replaces a file.
func (s *store) write(name string, v any) error {
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	sealed := s.aead.Seal(nil, nil, plain, []byte(name))
	if len(sealed) > maxFile {
		return fmt.Errorf("a sign-in of %d bytes, at most %d fit", len(sealed), maxFile)
	}
	return durable.Replace(filepath.Join(s.dir, name), sealed, durable.Options{})
}

// remove removes a file that may be there.
func (s *store) remove(name string) error {
	if err := os.Remove(filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDir(s.dir)
}

// modified returns when a file was last written; zero if it is not there.
func (s *store) modified(name string) time.Time {
	info, err := os.Stat(filepath.Join(s.dir, name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// lock excludes every other holder of the lock of that name, in all processes.
func (s *store) lock(ctx context.Context, id string) (unlock func(), err error) {
	l := durable.NewLock(filepath.Join(s.dir, id+lockExt))
	if err := l.Lock(ctx, false); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return func() { _ = l.Close() }, nil // a lock that cannot be given back ends with its process
}
