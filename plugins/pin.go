package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/quoinhq/quoin/internal/durable"
)

// Pin is what the files of a plugin have to be at a start. A plugin with a Pin is
// copied into a private folder while it is hashed, and the copy is what runs: what
// is started is what was checked. Files that the manifest does not name are not
// in the copy.
type Pin struct {
	// Manifest, Binary and Files are SHA-256 sums in hex: of plugin.json, of the
	// binary for this platform, and of the list of the plugin's other files. Files
	// is empty when there are none.
	Manifest, Binary, Files string
	// Signer is the key that has signed the plugin; zero if none has.
	Signer PublicKey
	// By and Accept are those of the [TrustError] of a plugin that does not meet
	// the Pin.
	By, Accept string
}

// pinOf is what a plugin's files are now, as a Pin for this platform.
func pinOf(m Manifest, c Contents) Pin {
	return Pin{Manifest: c.Sum(ManifestName), Binary: c.Sum(path.Clean(m.Command)), Files: c.filesSum(m)}
}

// compare returns a *TrustError for the first thing that got is and p is not.
func (p Pin) compare(id string, got Pin) error {
	for _, part := range []struct{ what, want, got string }{
		{ManifestName, p.Manifest, got.Manifest},
		{"the binary for " + hostPlatform(), p.Binary, got.Binary},
		{"the list of the other files", p.Files, got.Files},
	} {
		if part.want != part.got {
			return &TrustError{PluginID: id, What: part.what, By: p.By, Want: sha256Text(part.want), Got: sha256Text(part.got), Accept: p.Accept}
		}
	}
	return nil
}

// pinnedCopy copies the plugin's files for this platform into dir/id, which it
// makes, and reports whether the copy is what the plugin is pinned to.
func pinnedCopy(f Candidate, dir string) (string, error) {
	names, err := contentsPaths(f.Dir, f.Manifest)
	if err != nil {
		return "", err
	}
	own := path.Clean(f.Manifest.Command)
	binaries := map[string]bool{}
	for _, c := range f.Manifest.commands() {
		binaries[c] = true
	}
	copied := filepath.Join(dir, f.ID())
	var c Contents
	left := int64(MaxContentsBytes)
	for _, name := range names {
		if binaries[name] && name != own {
			continue // of another platform
		}
		mode := os.FileMode(0o600)
		if name == own {
			mode = 0o700
		}
		sum, n, err := hashingCopy(filepath.Join(f.Dir, filepath.FromSlash(name)), filepath.Join(copied, filepath.FromSlash(name)), mode, left)
		if err != nil {
			return "", err
		}
		left -= n
		c = append(c, FileSum{Path: name, SHA256: sum})
	}
	if want := f.Manifest.SHA256[hostPlatform()]; want != "" && want != c.Sum(own) {
		return "", &ChecksumError{Path: f.Executable(), Want: want, Got: c.Sum(own)}
	}
	return copied, f.Pin.compare(f.ID(), pinOf(f.Manifest, c))
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
