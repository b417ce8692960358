package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/internal/durable"
)

// Sums is what a packed plugin says about itself: the list of its contents and, perhaps,
// who vouches for it. It is a claim until it is compared with the files, and the signer is
// any key until it is compared with the trusted ones: see [CheckSigner].
type Sums struct {
	// Contents is nil if the plugin was not packed.
	Contents Contents
	// Signature is nil if the contents are not signed. It has been verified.
	Signature *Signature
}

// Signer returns the key that vouches for the contents; zero without a signature.
func (s Sums) Signer() PublicKey {
	if s.Signature == nil {
		return PublicKey{}
	}
	return s.Signature.Key
}

// ReadSums reads the list of contents and the signature in a plugin's folder. A
// signature that is not of that list is an error. The list is not compared with
// the files.
func ReadSums(dir string) (Sums, error) {
	sums, err := readSmall(filepath.Join(dir, SumsName), maxSumsBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(filepath.Join(dir, SignatureName)); err == nil {
			return Sums{}, fmt.Errorf("%s has a %s, but no %s that it could be of; install the plugin again", dir, SignatureName, SumsName)
		}
		return Sums{}, nil
	}
	if err != nil {
		return Sums{}, err
	}
	text, err := readSmall(filepath.Join(dir, SignatureName), maxSignatureBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Sums{}, err
	}
	return ParseSums(sums, text)
}

// ParseSums is ReadSums for texts. signature is nil for a list that is not signed.
func ParseSums(sums, signature []byte) (Sums, error) {
	c, err := parseContents(sums)
	if err != nil || signature == nil {
		return Sums{Contents: c}, err
	}
	sig, err := parseSignature(signature)
	if err != nil {
		return Sums{}, err
	}
	if !sig.Verify(sums) {
		return Sums{}, fmt.Errorf("the signature in %s by %s is not of %s as it is; get the plugin from its author again", SignatureName, sig.Key, SumsName)
	}
	return Sums{Contents: c, Signature: &sig}, nil
}

// readSmall reads a regular file of at most limit bytes. Links are refused: a packed
// plugin has no links.
func readSmall(name string, limit int64) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", name, limit)
	}
	return durable.ReadFile(name, limit)
}
