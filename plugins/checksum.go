package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ChecksumError: a plugin's binary is not the one its manifest pins.
type ChecksumError struct {
	Path      string
	Want, Got string // SHA-256 in hex
}

// Error names both checksums and the way out.
func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has the checksum %s, but %s pins %s for %s; reinstall the plugin, or pin the new checksum if you trust this binary",
		e.Path, e.Got, ManifestName, e.Want, hostPlatform())
}

// verifiedCopy copies a binary into dir while hashing it, so that what is
// started is what was checked. It returns the copy's path.
func verifiedCopy(path, want, dir string) (_ string, err error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	copied := filepath.Join(dir, filepath.Base(path))
	out, err := os.OpenFile(copied, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	if err := errors.Join(err, out.Close()); err != nil {
		return "", err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return "", &ChecksumError{Path: path, Want: want, Got: got}
	}
	return copied, nil
}
