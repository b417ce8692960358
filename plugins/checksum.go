package plugins

import (
	"errors"
	"fmt"
	"math"
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
func verifiedCopy(path, want, dir string) (string, error) {
	copied := filepath.Join(dir, filepath.Base(path))
	got, _, err := hashingCopy(path, copied, 0o700, math.MaxInt64-1)
	if err != nil {
		return "", err
	}
	if got != want {
		return "", &ChecksumError{Path: path, Want: want, Got: got}
	}
	return copied, nil
}

// startable returns the binary to start and the folder that it takes for its own.
// What is pinned is copied into dir, and the copies are what is returned.
func (f Candidate) startable(dir string) (binary, folder string, err error) {
	if f.Pin != nil {
		if folder, err = pinnedCopy(f, filepath.Join(dir, "copy")); err != nil {
			return "", "", err
		}
		return filepath.Join(folder, filepath.FromSlash(f.Manifest.Command)), folder, nil
	}
	binary = f.Executable()
	if want := f.Manifest.SHA256[hostPlatform()]; want != "" {
		binary, err = verifiedCopy(binary, want, dir)
	}
	return binary, f.Dir, err
}

// untrusted reports whether an error says that a plugin is not what it has to be.
func untrusted(err error) bool {
	var sum *ChecksumError
	var trust *TrustError
	return errors.As(err, &sum) || errors.As(err, &trust)
}
