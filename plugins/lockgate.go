package plugins

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// LockGate returns the gate of a plugin directory: what its quoin.lock does not
// list does not start, and what it lists starts as it is listed. Without that file
// every plugin may start. The file is read at every start, so that a change of it
// counts from the next start on; one that cannot be read keeps every plugin from
// starting, and so does one that was there before and is gone: files are replaced
// in more than one step too, and what happens in between must not be a start of
// everything.
//
// With trusted keys, a plugin starts only if one of them has signed it, whatever
// the lock says, and the signature is of what starts.
func LockGate(dir string, trusted []PublicKey) Gate {
	dir, unknown := filepath.Abs(dir) // the working directory may change
	var seen atomic.Bool
	if _, err := os.Lstat(filepath.Join(dir, LockName)); unknown == nil && err == nil {
		seen.Store(true)
	}
	return func(f Candidate) (Candidate, error) {
		if unknown != nil {
			return f, unknown
		}
		lock, err := ReadLock(dir)
		switch {
		case err != nil:
			return f, err
		case lock != nil:
			seen.Store(true)
		case seen.Load():
			return f, &LockError{Path: filepath.Join(dir, LockName), Problem: "it is gone; to do without it, start the host again"}
		}
		var signed *Pin
		if len(trusted) > 0 {
			if signed, err = signedPin(f, trusted); err != nil {
				return f, err
			}
		}
		if lock == nil {
			f.Pin = signed
			return f, nil
		}
		if f, err = lock.Admit(f); err != nil {
			return f, err
		}
		if signed != nil {
			// The lock counts at the start; here it has to agree with the signature.
			err = signed.compare(f.ID(), *f.Pin)
		}
		return f, err
	}
}

// Admit returns f with the [Pin] that the lock demands of it on this platform. A
// plugin that is not listed, or not of the listed version or manifest, is a
// *[TrustError]; its other files are compared when it starts.
func (l Lock) Admit(f Candidate) (Candidate, error) {
	id, accept := f.ID(), acceptByPin(filepath.Dir(f.Dir), f.ID())
	refuse := func(what, want, got string) (Candidate, error) {
		return f, &TrustError{PluginID: id, What: what, By: LockName, Want: want, Got: got, Accept: accept}
	}
	e, listed := l[id]
	if !listed || e.Binaries[hostPlatform()] == "" {
		c, err := ReadContents(f.Dir, f.Manifest)
		if err != nil {
			return f, err
		}
		return refuse("the binary for "+hostPlatform(), "", sha256Text(pinOf(f.Manifest, c).Binary))
	}
	if e.Version != f.Manifest.Version {
		return refuse("the version", e.Version, f.Manifest.Version)
	}
	if e.Manifest != f.ManifestSum {
		return refuse(ManifestName, sha256Text(e.Manifest), sha256Text(f.ManifestSum))
	}
	f.Pin = &Pin{Manifest: e.Manifest, Binary: e.Binaries[hostPlatform()], Files: e.Files, Signer: e.Signer, By: LockName, Accept: accept}
	return f, nil
}

// signedPin is what a trusted signature says of a plugin on this platform.
func signedPin(f Candidate, trusted []PublicKey) (*Pin, error) {
	seal, err := ReadSeal(f.Dir)
	if err != nil {
		return nil, err
	}
	if err := CheckSigner(f.ID(), seal.Signer(), trusted); err != nil {
		return nil, err
	}
	p := pinOf(f.Manifest, seal.Contents)
	p.Signer = seal.Signer()
	p.By, p.Accept = "the signed "+SumsName, "install the plugin again, from an archive that is signed"
	if f.ManifestSum != p.Manifest {
		// The files are compared when it starts; what says which of them is the
		// binary, and how it is to be run, was read before.
		return nil, &TrustError{PluginID: f.ID(), What: ManifestName, By: p.By, Want: sha256Text(p.Manifest), Got: sha256Text(f.ManifestSum), Accept: p.Accept}
	}
	return &p, nil
}

// CheckSigner reports a plugin that none of the trusted keys has signed, as a
// *[TrustError]. signer is zero for a plugin that is not signed. With no trusted
// keys, all are.
func CheckSigner(id string, signer PublicKey, trusted []PublicKey) error {
	if len(trusted) == 0 || signer != (PublicKey{}) && slices.Contains(trusted, signer) {
		return nil
	}
	e := &TrustError{PluginID: id, What: "the signer", By: "plugins.trustedKeys", Want: keyList(trusted),
		Accept: "install a build signed by such a key"}
	if signer != (PublicKey{}) {
		e.Got = signer.String()
		e.Accept = "if you trust that key, add it to plugins.trustedKeys in the configuration"
	}
	return e
}

func keyList(keys []PublicKey) string {
	var texts []string
	for _, k := range keys {
		texts = append(texts, k.String())
	}
	return strings.Join(texts, " or ")
}
