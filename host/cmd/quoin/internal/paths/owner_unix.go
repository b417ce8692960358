//go:build unix

package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/internal/ownership"
)

// CheckState returns an error if another user could put other runs and approvals in the
// place of this user's: if one owns the state directory or a directory on the way to it,
// or may write there. A directory of root with a group that the system does not know is
// accepted: managers of containers give volumes to such a group.
func CheckState(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if err := ownership.CheckExcept(existing(dir), isVolume); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return nil
}

func isVolume(e *ownership.Error) bool {
	return e.Owner == 0 && e.Mode&0o002 == 0 && !ownership.KnownGroup(e.Group)
}

// existing returns dir, or the nearest directory above that exists.
func existing(dir string) string {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// checkOwn returns an error if another user could have written a configuration file, or
// could put one in its place.
func checkOwn(path string, st fs.FileInfo) error {
	if mode := st.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("configuration file %s has mode %04o, so that others can write it: run chmod go-w %s", path, mode, path)
	}
	if err := ownership.CheckExcept(path, isVolume); err != nil {
		return fmt.Errorf("configuration file: %w; or name the file with --config", err)
	}
	return nil
}
