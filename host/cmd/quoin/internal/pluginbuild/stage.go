package pluginbuild

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/plugins/manifest"
)

// stage puts everything that is not there yet into a generation's folder.
func (f *Folder) stage(dir string) error {
	if err := f.stageManifest(dir); err != nil {
		return err
	}
	if len(f.Command) > 0 {
		if err := f.stageCommand(dir); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(to); err == nil || strings.HasPrefix(e.Name(), ".") {
			continue // made for this generation, or nothing of the plugin's
		}
		if err := os.Symlink(filepath.Join(f.Dir, e.Name()), to); err != nil {
			return err
		}
	}
	return nil
}

// stageManifest copies the manifest, without checksums of another binary.
func (f *Folder) stageManifest(dir string) error {
	b, err := os.ReadFile(filepath.Join(f.Dir, manifest.Name))
	if err != nil {
		return err
	}
	if f.Builds() && f.Manifest.SHA256 != nil {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(b, &m); err != nil {
			return err
		}
		delete(m, "sha256")
		if b, err = json.Marshal(m); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, manifest.Name), b, 0o600)
}

// stageCommand copies what a build command has made, because the next build would
// write over it. A command that is not at the top of the folder may need the
// files next to it. Its directory is linked to.
func (f *Folder) stageCommand(dir string) (err error) {
	name := filepath.Clean(filepath.FromSlash(f.Manifest.Command))
	if filepath.Base(name) != name {
		return nil
	}
	in, err := os.Open(filepath.Join(f.Dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil // a host says what is missing
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
