package pluginbuild

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// BuildMissing builds the manifest's command into the author's folder if it is not
// there and can be built, and reports whether it did. It is for what reads the folder
// as a host does; one that is there stays as it is.
func (f *Folder) BuildMissing(ctx context.Context) (built bool, err error) {
	command := filepath.FromSlash(f.Manifest.Command)
	to := filepath.Join(f.Dir, command)
	if _, err := os.Stat(to); !f.Builds() || !errors.Is(err, fs.ErrNotExist) {
		return false, nil // also what cannot be looked at: its reader says why
	}
	tmp, err := os.MkdirTemp("", "quoin-build-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	found, err := f.Build(ctx, tmp)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(to); err == nil {
		return true, nil // the author's own command has put it there
	}
	b, err := os.ReadFile(found.Executable())
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return false, err
	}
	return true, os.WriteFile(to, b, 0o755)
}
