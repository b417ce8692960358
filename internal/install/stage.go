package install

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/quoinhq/quoin/plugins"

	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// staged is a plugin that lies next to the place where it shall be.
type staged struct {
	found  plugins.Candidate // pinned to what it is
	entry  trust.LockEntry
	packed bool // it came as an archive
}

// stage brings a plugin into the staging folder and verifies what it says about
// itself.
func (d *directory) stage(source string) (*staged, error) {
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	var id string
	if info.IsDir() {
		id, err = d.copyFolder(source)
	} else {
		id, err = d.unpack(source)
	}
	if err != nil {
		return nil, err
	}
	found := plugins.Find(filepath.Join(d.staging, id))
	if found.Err != nil {
		return nil, found.Err
	}
	if err := checkListed(found, source); err != nil {
		return nil, err
	}
	entry, err := found.LockEntry()
	if err != nil {
		return nil, err
	}
	if err := trust.CheckSigner(id, entry.Signer, d.options.Trusted); err != nil {
		return nil, err
	}
	found, err = found.PinTo(trust.Lock{id: entry})
	return &staged{found, entry, !info.IsDir()}, err
}

// checkListed holds the files against what the plugin's own list says of them.
func checkListed(f plugins.Candidate, source string) error {
	seal, err := trust.ReadSums(f.Dir)
	if err != nil || seal.Contents == nil {
		return err
	}
	got, err := trust.ReadContents(f.Dir, f.Manifest)
	if err != nil || slices.Equal(got, seal.Contents) {
		return err
	}
	for _, c := range got {
		if want := seal.Contents.Sum(c.Path); want != c.SHA256 {
			return fmt.Errorf("%s of %s is sha256:%s, but its %s says %q; pack it again, or remove %s and %s if it is your own",
				c.Path, source, c.SHA256, trust.SumsName, want, trust.SumsName, trust.SignatureName)
		}
	}
	return fmt.Errorf("%s of %s lists files that the manifest does not name; pack it again", trust.SumsName, source)
}

func (d *directory) unpack(source string) (id string, err error) {
	f, err := os.Open(source)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	u, err := unpack(f, d.staging)
	if err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	return u.ID, nil
}

// copyFolder copies what belongs to the plugin in a folder, under its id: the
// folder's own name does not matter.
func (d *directory) copyFolder(source string) (id string, err error) {
	m, err := manifest.Read(source)
	if err != nil {
		return "", err
	}
	contents, err := trust.ReadContents(source, m)
	if err != nil {
		return "", err
	}
	binaries := map[string]bool{}
	for _, b := range m.Binaries() {
		binaries[b] = true
	}
	to := filepath.Join(d.staging, m.ID)
	for _, c := range contents {
		if err := copyFile(filepath.Join(source, filepath.FromSlash(c.Path)), filepath.Join(to, filepath.FromSlash(c.Path)), binaries[c.Path]); err != nil {
			return "", err
		}
	}
	for _, name := range []string{trust.SumsName, trust.SignatureName} {
		if _, err := os.Lstat(filepath.Join(source, name)); err != nil {
			continue // a folder need not be packed
		}
		if err := copyFile(filepath.Join(source, name), filepath.Join(to, name), false); err != nil {
			return "", err
		}
	}
	return m.ID, nil
}

func copyFile(from, to string, executable bool) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	mode := os.FileMode(0o644)
	if info, err := in.Stat(); err != nil {
		return err
	} else if executable {
		mode = info.Mode().Perm() | 0o644 // whether it can be run is for the loader to judge
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
