package plugins

import (
	"path/filepath"

	"github.com/quoinhq/quoin/internal/ownership"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// OwnerError is about something that another user owns or may write to.
type OwnerError = ownership.Error

// CheckOwner refuses a plugin that others than this process's user or root may have put
// there, or may change: its folder, its manifest, its binary, its files, and every folder
// and link on the way to them. The error is an *[OwnerError] if it is about owner or mode.
func (f Candidate) CheckOwner() error {
	for _, path := range []string{f.Dir, filepath.Join(f.Dir, manifest.Name), f.Executable()} {
		if err := ownership.Check(path); err != nil {
			return err
		}
	}
	for _, name := range f.Manifest.Files {
		if err := ownership.CheckTree(filepath.Join(f.Dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}
