package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// CopyPinned copies the files for this platform of the plugin in from with manifest m
// into a folder below to that is named like the plugin. It returns that folder. The
// copies are hashed while they are written, and compared with the pin: what runs is
// what was checked. The error is a *[Error] or a *[ChecksumError] if they differ.
func (p Pin) CopyPinned(from string, m manifest.Manifest, to string) (folder string, err error) {
	names, err := ContentsPaths(from, m)
	if err != nil {
		return "", err
	}
	own := path.Clean(m.Command)
	folder = filepath.Join(to, m.ID)
	var c Contents
	left := int64(MaxContentsBytes)
	for _, name := range names {
		if name != own && slices.Contains(m.CommandPaths(), name) {
			continue // the binary of another platform
		}
		mode := os.FileMode(0o600)
		if name == own {
			mode = 0o700
		}
		sum, n, err := hashingCopy(filepath.Join(from, filepath.FromSlash(name)), filepath.Join(folder, filepath.FromSlash(name)), mode, left)
		if err != nil {
			return "", err
		}
		left -= n
		c = append(c, FileSum{Path: name, SHA256: sum})
	}
	if want := m.SHA256[manifest.HostPlatform()]; want != "" && want != c.Sum(own) {
		return "", &ChecksumError{Path: filepath.Join(from, filepath.FromSlash(m.Command)), Want: want, Got: c.Sum(own)}
	}
	return folder, p.Compare(m.ID, pinOf(m, c))
}

// CopyVerified copies a binary into dir and returns the path of the copy. The error is
// a *[ChecksumError] if the copy has not the SHA-256 that is wanted, in lower-case hex.
func CopyVerified(path, want, dir string) (copied string, err error) {
	copied = filepath.Join(dir, filepath.Base(path))
	got, _, err := hashingCopy(path, copied, 0o700, math.MaxInt64-1)
	if err != nil {
		return "", err
	}
	if got != want {
		return "", &ChecksumError{Path: path, Want: want, Got: got}
	}
	return copied, nil
}

// hashingCopy copies a file of at most limit bytes and returns the SHA-256 of what
// it has written.
func hashingCopy(from, to string, mode os.FileMode, limit int64) (sum string, n int64, err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", 0, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	h := sha256.New()
	n, err = durable.Copy(io.MultiWriter(out, h), from, limit)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
