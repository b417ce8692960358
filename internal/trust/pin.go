package trust

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/plugins/manifest"
)

// Pin is what the files of a plugin have to be at a start. A plugin with a Pin is
// copied into a private folder while it is hashed, and the copy is what runs: what
// is started is what was checked. Files that the manifest does not name are not
// in the copy.
type Pin struct {
	// Manifest, Binary and Files are SHA-256 sums in hex: of plugin.json, of the
	// binary for this platform, and of the list of the plugin's other files. Files
	// is empty when the plugin has no other files.
	Manifest, Binary, Files string
	// Signer is the key that has signed the plugin; zero if it is not signed.
	Signer PublicKey
	// By and Accept are the fields of the [Error] of a plugin that does not meet the
	// Pin: what vouches, and how the operator can accept another plugin.
	By, Accept string
}

// pinOf is what a plugin's files are now, as a Pin for this platform.
func pinOf(m manifest.Manifest, c Contents) Pin {
	return Pin{Manifest: c.Sum(manifest.Name), Binary: c.Sum(path.Clean(m.Command)), Files: c.filesSum(m)}
}

// Compare returns a *Error for the first thing that got is and p is not.
func (p Pin) Compare(id string, got Pin) error {
	for _, part := range []struct{ what, want, got string }{
		{manifest.Name, p.Manifest, got.Manifest},
		{"the binary for " + manifest.HostPlatform(), p.Binary, got.Binary},
		{"the list of the other files", p.Files, got.Files},
	} {
		if part.want != part.got {
			return &Error{PluginID: id, What: part.what, By: p.By, Want: sha256Text(part.want), Got: sha256Text(part.got), Accept: p.Accept}
		}
	}
	return nil
}

// Pin returns what the lock demands on this platform of the plugin in dir. Its manifest
// is m and was read from a text with the SHA-256 manifestSum. A plugin that is not
// listed, or not of the listed version or manifest, is a *[Error]. The other files are
// compared when they are copied.
func (l Lock) Pin(dir string, m manifest.Manifest, manifestSum string) (*Pin, error) {
	id, accept := m.ID, acceptByPin(filepath.Dir(dir), m.ID)
	refuse := func(what, want, got string) (*Pin, error) {
		return nil, &Error{PluginID: id, What: what, By: LockName, Want: want, Got: got, Accept: accept}
	}
	e, listed := l[id]
	if !listed || e.Binaries[manifest.HostPlatform()] == "" {
		c, err := ReadContents(dir, m)
		if err != nil {
			return nil, err
		}
		return refuse("the binary for "+manifest.HostPlatform(), "", sha256Text(pinOf(m, c).Binary))
	}
	if e.Version != m.Version {
		return refuse("the version", e.Version, m.Version)
	}
	if e.Manifest != manifestSum {
		return refuse(manifest.Name, sha256Text(e.Manifest), sha256Text(manifestSum))
	}
	return &Pin{Manifest: e.Manifest, Binary: e.Binaries[manifest.HostPlatform()], Files: e.Files, Signer: e.Signer, By: LockName, Accept: accept}, nil
}

// SignedPin returns what a trusted signature says on this platform of the plugin in dir.
// The arguments are the arguments of [Lock.Pin] and [CheckSigner].
func SignedPin(dir string, m manifest.Manifest, manifestSum string, trusted []PublicKey) (*Pin, error) {
	sums, err := ReadSums(dir)
	if err != nil {
		return nil, err
	}
	if err := CheckSigner(m.ID, sums.Signer(), trusted); err != nil {
		return nil, err
	}
	p := pinOf(m, sums.Contents)
	p.Signer = sums.Signer()
	p.By, p.Accept = "the signed "+SumsName, "install the plugin again, from an archive that is signed"
	if manifestSum != p.Manifest {
		// The files are compared when it starts; what says which of them is the
		// binary, and how it is to be run, was read before.
		return nil, &Error{PluginID: m.ID, What: manifest.Name, By: p.By, Want: sha256Text(p.Manifest), Got: sha256Text(manifestSum), Accept: p.Accept}
	}
	return &p, nil
}

// CheckSigner reports a plugin that no trusted key has signed, as a
// *[Error]. signer is zero for a plugin that is not signed. With no trusted
// keys, all are.
func CheckSigner(id string, signer PublicKey, trusted []PublicKey) error {
	if len(trusted) == 0 || signer != (PublicKey{}) && slices.Contains(trusted, signer) {
		return nil
	}
	e := &Error{PluginID: id, What: "the signer", By: "plugins.trustedKeys", Want: keyList(trusted),
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
